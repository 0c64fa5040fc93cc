"""What mkdocs calls while it builds the site: it adds the pages that are made of the package."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def on_config(config):
    """The pages of the reference take the place of its line in the navigation."""
    from manual import reference

    for item in config.nav:
        if isinstance(item, dict) and item.get("Reference") == "reference/index.md":
            item["Reference"] = [{title: path} for title, path in reference.titles()]
    return config


def on_files(files, config):
    from manual import pages

    for path, text in pages.texts().items():
        files.append(File.generated(config, path, content=text))
    for path, source in pages.pictures().items():
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown, page, config, files):
    from manual import pages

    return pages.filled(page.file.src_uri, markdown)
