import re
from pathlib import Path

import pytest
from tests import size


def test_lines_and_words_stay_within_their_budgets() -> None:
    numbers = size.measure_text()
    assert not size.missed(numbers), numbers


@pytest.mark.slow
def test_imports_and_parameters_stay_within_their_budgets() -> None:
    numbers = size.measure_structure()
    assert not size.missed(numbers), numbers["circles"]


def test_the_design_names_every_room_and_every_module_at_the_top() -> None:
    """The modules and folders of the framework, of tournaments, Go and RBC; not their contents."""
    text = (size.ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    blocks = re.split(r"^(?=\S)", text.partition("```")[2].partition("```")[0], flags=re.MULTILINE)
    tops = ("framework/miai", "tournaments/miai_tournaments", "plugins/go/miai_go")
    for top in (*tops, "plugins/rbc/miai_rbc"):
        block = next(block for block in blocks if block.startswith(f"{top}/"))
        # Three spaces divide names from what explains them; rooms inside are indented further.
        lines = [line for line in block.splitlines() if re.match(r"  \S", line)]
        named = {name.strip("/") for line in lines for name in line.strip().split("   ")[0].split()}
        below = {Path(*path.parts[: len(Path(top).parts) + 1]) for path in size.sources()}
        present = {path.stem for path in below if path.is_relative_to(top)}
        missing = {name for name in present if not name.startswith("_")} - named
        assert not missing, f"{top}: {sorted(missing)}"


def test_imports_in_functions_and_for_types_alone_close_a_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size, "ROOT", tmp_path)
    sources = {
        "pack/__init__.py": "from pack.a import f\n",
        "pack/a.py": "from . import b\ndef f():\n    from .deep import d\n",
        "pack/b.py": "if TYPE_CHECKING:\n    from pack.a import f\n",
        "pack/c.py": "import pack.a\nimport pack.b\n",
        "pack/deep/__init__.py": "",
        "pack/deep/d.py": "from ..c import pack\n",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    edges = size.imports(Path(name) for name in sources)

    assert edges[Path("pack/__init__.py")] == {Path("pack/a.py")}
    assert edges[Path("pack/c.py")] == {Path("pack/a.py"), Path("pack/b.py")}
    (circle,) = size.circles(edges)
    assert {Path("pack/a.py")} < set(circle) < set(edges)
    assert size.circles({one: edges[one] - set(circle) for one in edges}) == []
