"""Which backend is in force, and its memory and order of work, for the layers that do not know backends."""
