"""Finds the extra of a distribution that installs a module which is missing."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, entry_points, requires

from miai.errors import MissingExtraError

_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w.-]+)['"]""")


def missing_extra(error: ImportError, package: str, what: str) -> MissingExtraError | None:
    """Return the error that names the extra for a module that could not be imported.

    Args:
      error: the failed import.
      package: the import package that needs the module.
      what: the feature, for the message.

    Returns:
      None if the module is of the package itself, or of no extra of its distribution or of miai.
    """
    module = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or module in ("", package):
        return None
    for distribution in (_distribution_of(package), "miai"):
        extra = _extra_with(module, distribution)
        if extra is not None:
            return MissingExtraError(
                f"{what} needs {module}, which is not installed: "
                f"pip install '{distribution}[{extra}]'",
                extra=f"{distribution}[{extra}]",
            )
    return None


def _distribution_of(package: str) -> str:
    """Return the distribution of a plugin's package; miai for any other."""
    for entry in entry_points(group="miai"):
        if entry.value.partition(".")[0] == package and entry.dist is not None:
            return entry.dist.name
    return "miai"


def _extra_with(module: str, distribution: str) -> str | None:
    """Return the first extra of a distribution that installs a module; None for none.

    Of the extras that name it, that of the fewest requirements: not ``dev``, which has everything.
    """
    try:
        texts = requires(distribution) or []
    except PackageNotFoundError:
        return None
    sizes: dict[str, int] = {}
    found: list[str] = []
    for text in texts:
        for extra in _EXTRA.findall(text):
            sizes[extra] = sizes.get(extra, 0) + 1
            name = re.split(r"[^\w.-]", text.strip(), maxsplit=1)[0]
            if _normalized(name) == _normalized(module):
                found.append(extra)
    return min(found, key=lambda extra: sizes[extra], default=None)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
