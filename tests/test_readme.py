"""The README's map has a line for each module, and it is the module's own first sentence.

Run as a program, this rewrites the map.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("labcore", "grading", "worker", "api")
HEADING = "## Map\n"


def test_the_map_has_every_module_with_its_own_words() -> None:
    assert the_map() in (ROOT / "README.md").read_text("utf-8"), "bring the map up to date: python tests/test_readme.py"


def test_every_decision_is_reachable_and_every_link_leads_somewhere() -> None:
    for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        for target in _links(page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def the_map() -> str:
    """One line a module, package by package."""
    lines = ["| module | what it is |", "|---|---|"]
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py"), key=lambda path: (path.parent, path.name)):
            if "packs" not in path.parts:
                lines.append(f"| `{path.relative_to(ROOT)}` | {_first_sentence(path)} |")
    return "\n".join(lines)


def _first_sentence(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert docstring, f"{path} says nothing of itself"
    return " ".join(docstring.split("\n\n")[0].split()).replace("|", "\\|")


def _links(text: str) -> list[str]:
    found = [part.split(")")[0] for part in text.split("](")[1:]]
    return [link.split("#")[0] for link in found if link and not link.startswith(("http", "#"))]


if __name__ == "__main__":
    readme = ROOT / "README.md"
    head, _, rest = readme.read_text("utf-8").partition("| module |")
    readme.write_text(head + the_map() + "\n", "utf-8")
