"""What `make docs` makes of the package for its manual: the reference, tables of options, drawings, the gallery."""
