"""Example programs. `python -m quadrants.examples` lists them; `python -m quadrants.examples NAME` runs one."""
