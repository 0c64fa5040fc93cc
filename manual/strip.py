"""`python -m manual.strip`: the picture of README.md, made of those of the gallery (build/manual/gallery)."""

from __future__ import annotations

from manual import gallery
from manual.pages import MADE, ROOT

NAMES = ("mpm3d", "path_tracer", "cloth", "fluid", "sph", "nbody")
SIZE, GAP = 150, 6
PATH = ROOT / "docs" / "assets" / "gallery.png"


def main() -> None:
    from PIL import Image

    made = gallery.pictures(MADE / "gallery")
    strip = Image.new("RGB", (len(NAMES) * (SIZE + GAP) - GAP, SIZE), (255, 255, 255))
    for k, name in enumerate(NAMES):
        with Image.open(made[f"gallery/made/{name}.png"]) as picture:
            strip.paste(picture.convert("RGB").resize((SIZE, SIZE), Image.Resampling.LANCZOS), (k * (SIZE + GAP), 0))
    strip.quantize(128).save(PATH, optimize=True)
    print(f"{PATH.relative_to(ROOT)}: {PATH.stat().st_size} bytes")


if __name__ == "__main__":
    main()
