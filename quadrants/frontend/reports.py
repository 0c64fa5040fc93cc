"""What a user is told while a kernel is traced, short of an error."""

from __future__ import annotations

from quadrants import _logging, banner, caller
from quadrants.frontend.positions import Positions


class Reports:
    """Warnings and lines of the log, with their places. `told`: what is not to be said again in this trace."""

    __slots__ = ("positions", "told")

    def __init__(self, positions: Positions) -> None:
        self.positions = positions
        self.told: set[tuple] = set()

    def warn(self, text: str, category: type[Warning]) -> None:
        """A warning about the line under translation."""
        frame = self.positions.users_frame()
        caller.warn_at(frame.source.file, self.positions.line_of(frame), text, category)

    def warn_once(self, text: str, category: type[Warning]) -> None:
        """As `warn`, once for each line of the user's code in this specialisation."""
        if self._first(text):
            self.warn(text, category)

    def warn_in_banner_once(self, kind: str, text: str) -> None:
        """A warning that shows the code and all functions around it, once for each place and `kind`."""
        frames = self.positions.error_frames()
        key = (kind, *frames[-1])
        if key not in self.told:
            self.told.add(key)
            self.warn(banner.format_banner(frames, text), UserWarning)

    def log_warning(self, text: str) -> None:
        frame = self.positions.frame
        _logging.warn(f"{frame.source.file}:{self.positions.line_of(frame)}: {text}")

    def log_once(self, text: str) -> None:
        """As `log_warning`, once for each line of the user's code in this specialisation."""
        if self._first(text):
            self.log_warning(text)

    def _first(self, text: str) -> bool:
        """Whether it is told of this line for the first time."""
        frame = self.positions.frame
        key = (text, frame.source.file, self.positions.line_of(frame))
        if key in self.told:
            return False
        self.told.add(key)
        return True
