"""Members of data-oriented objects that are neither numbers nor data: what they are chooses the version of a kernel."""

import enum

import pytest
from language_kit import specialisations

import quadrants as qd


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@pytest.mark.parametrize("template_primitives", [True, False])
def test_texts_and_members_of_enums_choose_the_version(arch, template_primitives):
    """They are no numbers, so that a version is compiled for each; one that was there before is found again."""

    @qd.data_oriented(template_primitives=template_primitives)
    class Inner:
        def __init__(self):
            self.text = "a"

    @qd.data_oriented(template_primitives=template_primitives)
    class Chooser:
        def __init__(self):
            self.text, self.colour = "a", Colour.RED
            self.inner = Inner()

        @qd.kernel
        def chosen(self) -> qd.i32:
            found = 0
            if qd.static(self.text == "a"):
                found += 1
            if qd.static(self.colour == Colour.RED):
                found += 100
            if qd.static(self.inner.text == "a"):
                found += 1000
            return found

    x = Chooser()
    assert x.chosen() == 1101
    x.text = "b"
    assert x.chosen() == 1100
    x.inner.text = "b"
    assert x.chosen() == 100
    x.colour = Colour.BLUE
    assert x.chosen() == 0
    x.text, x.colour, x.inner = "a", Colour.RED, Inner()
    assert x.chosen() == 1101
    assert specialisations(Chooser.chosen) == 4
