"""What to say of a file or folder that is not there, or is none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

_FEW = 12


def absence(path: Path, beside: Iterable[str] = ()) -> str:
    """Return that nothing is at a path, and what is there with a name near it.

    Args:
      beside: names in the path's folder that would do. Few of them are listed when none is near.
    """
    missing = path
    while missing.parent != missing and not missing.parent.exists():
        missing = missing.parent
    if missing != path:
        return f"does not exist: there is no folder {missing}.{_other_folder(path, missing)}"
    names = sorted(beside)
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.7)
    if near:
        return f"does not exist. Did you mean {_either(path.parent / name for name in near)}?"
    listed = f" Known: {', '.join(names)}." if 0 < len(names) <= _FEW else ""
    return f"does not exist.{listed}"


def _other_folder(path: Path, missing: Path) -> str:
    """Return which folders beside a missing one have a name near it.

    The rest of the path follows where it leads on.
    """
    try:
        folders = [p.name for p in missing.parent.iterdir() if p.is_dir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(missing.name, folders, n=3, cutoff=0.7)
    rest = path.relative_to(missing)
    found = [missing.with_name(name) for name in near]
    whole = [folder / rest if (folder / rest).exists() else folder for folder in found]
    return f" Did you mean {_either(whole)}?" if near else ""


def _either(paths: Iterable[Path]) -> str:
    return " or ".join(f"'{path}'" for path in paths)
