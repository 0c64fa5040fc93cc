"""What the manual is made of: drawings that are right, pictures of every example, no large file in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import quadrants as qd
from manual import check, docstrings, drawings, gallery, options, pages, programs

pytestmark = pytest.mark.cpu_only
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def runtime():
    qd.init(arch=qd.cpu)
    yield
    qd.reset()


def test_the_drawings_show_the_order_in_memory(runtime):
    places = {name: drawings.places(make()) for name, make in drawings.LAYOUTS.items()}
    rows = np.arange(24).reshape(4, 6)
    assert (places["row_major"]["x"] == rows).all() and (places["offset"]["x"] == rows).all()
    assert (places["column_major"]["x"] == np.arange(24).reshape(6, 4).T).all()
    blocks = np.arange(24).reshape(2, 3, 2, 2).swapaxes(1, 2).reshape(4, 6)
    assert (places["blocks"]["x"] == blocks).all()
    assert (places["array_of_structs"]["v.y"] == 3 * np.arange(6) + 1).all()
    assert (places["struct_of_arrays"]["v.y"] == np.arange(6, 12)).all()
    assert (places["side_by_side"]["charge"] == 2 * np.arange(6) + 1).all()


def test_every_layout_of_the_page_is_drawn():
    page = (ROOT / "docs/guide/layouts.md").read_text()
    assert set(re.findall(r"made/(\w+)\.svg", page)) == set(drawings.LAYOUTS)


def test_every_example_has_a_page_and_is_short():
    texts = gallery.texts()
    for name in gallery.names():
        assert f"gallery/{name}.md" in texts and f"made/{name}.gif" in texts["gallery/index.md"]
        assert len((gallery.SOURCES / f"{name}.py").read_text().splitlines()) < 200, name
    assert set(gallery.FIRST) <= set(gallery.names())


def test_an_animation_gets_small(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow (pip install pillow)")
    noise = np.random.default_rng(1).integers(0, 255, (41, 320, 320, 3), dtype=np.uint8)
    first, *rest = [image.fromarray(frame) for frame in noise]
    first.save(tmp_path / "a.gif", save_all=True, append_images=rest, duration=40)
    gallery.shrink(tmp_path / "a.gif")
    with image.open(tmp_path / "a.gif") as film:
        assert film.size == (256, 256) and film.n_frames == 21 and film.info["duration"] == 80


def test_pages_show_what_their_programs_write():
    for page in programs.PAGES:
        text = (ROOT / "docs" / page).read_text()
        written = re.findall(r"\"([\w.-]+\.(?:png|gif|json))\"", text)
        for shown in re.findall(r"\]\(made/([\w.-]+)\)", text):
            assert shown in written or shown == "trace.png", f"{page}: {shown}"


def test_the_navigation_has_every_page():
    navigation = (ROOT / "mkdocs.yml").read_text()
    hidden = ("docs/development/coverage/", "docs/assets/", "docs/notebooks/")
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").as_posix()
        assert name in navigation or f"docs/{name}".startswith(hidden), name


def test_pictures_in_the_repository_are_small():
    kept = [path for path in (ROOT / "docs").rglob("*") if path.suffix in (".png", ".gif", ".svg", ".jpg")]
    assert sum(path.stat().st_size for path in kept) < 200_000


def test_pages_of_the_root_have_links_of_the_manual():
    texts = pages.texts()
    assert "](docs/" not in texts["contributing.md"] + texts["changelog.md"]
    assert "| `debug` |" not in pages.filled("guide/gpu.md", "x") and "<!-- table" not in options.page()


@pytest.mark.slow
def test_a_link_that_leads_nowhere_is_found(tmp_path):
    pytest.importorskip("linkcheck", reason="needs linkchecker: pip install linkchecker")
    (tmp_path / "there.html").write_text("<p>Here.</p>")
    (tmp_path / "index.html").write_text('<a href="there.html">a</a>')
    assert check.check_links(tmp_path) == 0
    (tmp_path / "index.html").write_text('<a href="gone.html">a</a>')
    assert check.check_links(tmp_path) != 0


def test_text_of_docstrings_means_nothing_to_markdown():
    assert docstrings.plain("a*b_c `d*e` <f>") == r"a\*b\_c `d*e` &lt;f\>"
