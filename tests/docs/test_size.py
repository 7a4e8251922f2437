from pathlib import Path
from typing import Final

import pytest
from tests import size

LIMITS: Final = {
    "lines of packages": 105_800,
    "lines of tests": 66_000,
    "circles of imports": 0,
    "parameters at the top": 400,
}
"""No number may rise above its limit; `make size` prints them all beside their budgets."""


def test_the_project_stays_within_its_limits() -> None:
    numbers = size.measure()
    above = {name: numbers[name] for name, limit in LIMITS.items() if numbers[name] > limit}
    assert not above, numbers["circles"]


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
    assert size.circles(edges) == [
        [Path("pack/a.py"), Path("pack/b.py"), Path("pack/c.py"), Path("pack/deep/d.py")]
    ]
