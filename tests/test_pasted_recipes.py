"""What a recipe page shows is a whole program: pasted into an empty folder, with the line that the page names, it writes its file."""

import re
import runpy
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"
INCLUDE = re.compile(r"```python\n\{\{#include (\S+?):(\w+)\}\}\n```")
CALL = re.compile(r"`(write\(\"(\w+)\", \w+\(\)\))`")


def anchored(file: Path, anchor: str) -> str:
    lines = file.read_text().splitlines()
    start = next(
        n for n, line in enumerate(lines) if line.strip() == f"# ANCHOR: {anchor}"
    )
    end = next(
        n for n, line in enumerate(lines) if line.strip() == f"# ANCHOR_END: {anchor}"
    )
    return "\n".join(line for line in lines[start:end] if "# ANCHOR" not in line) + "\n"


def pages() -> list[Path]:
    return sorted(page for page in SRC.glob("**/*.md") if CALL.search(page.read_text()))


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_the_page_pastes_as_a_program(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text()
    named = CALL.search(text)
    assert named, page
    shown = [
        anchored(page.parent / file, anchor)
        for file, anchor in INCLUDE.findall(text[: named.start()])
    ]
    program = tmp_path / "pasted.py"
    program.write_text("\n".join([*shown, named[1], ""]))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(program))
    assert (tmp_path / f"{named[2]}.pte").stat().st_size > 0


def test_every_recipe_page_has_one() -> None:
    pages_of_recipes = (SRC / "recipes").glob("*.md")
    recipes = {page for page in pages_of_recipes if INCLUDE.search(page.read_text())}
    assert recipes <= set(pages()), (
        "a recipe page does not say how its `.pte` is written"
    )
