"""What all parts of one trace share."""

from __future__ import annotations

from quadrants.frontend.declared import Declared
from quadrants.frontend.flow import Flow
from quadrants.frontend.functions import Functions
from quadrants.frontend.names import Names
from quadrants.frontend.options import Options
from quadrants.frontend.positions import Positions
from quadrants.frontend.purity import Purity
from quadrants.frontend.record import Record
from quadrants.frontend.reports import Reports
from quadrants.frontend.writer import Writer


class State:
    """The state of a trace, by duty. A part takes from it what it needs when it is made."""

    __slots__ = ("options", "names", "positions", "reports", "flow", "writer", "declared", "functions", "purity")

    def __init__(self, options: Options, record: Record | None) -> None:
        self.options = options
        self.names = Names()
        self.positions = Positions()
        self.reports = Reports(self.positions)
        self.flow = Flow(self.positions)
        self.writer = Writer(options, self.names, self.positions, self.flow)
        self.declared = Declared()
        self.functions = Functions(options, self.positions)
        self.purity = Purity(options, self.positions, self.reports, record)
