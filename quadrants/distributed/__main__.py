"""`python -m quadrants.distributed doctor`"""

from __future__ import annotations

import argparse

from quadrants.distributed import doctor


def main() -> None:
    """Read the arguments, and do what they ask for."""
    parser = argparse.ArgumentParser(prog="python -m quadrants.distributed")
    commands = parser.add_subparsers(required=True)
    about = "print each rank's host and threads, and what messages take; below mpiexec"
    commands.add_parser("doctor", help=about, description=about).set_defaults(run=doctor.run)
    parser.parse_args().run()


if __name__ == "__main__":
    main()
