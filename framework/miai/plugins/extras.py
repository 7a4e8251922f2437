"""Finds the extra of a distribution that installs a module which is missing, and how to install it.

The names of distributions are not on any index, so that ``pip install 'miai[web]'`` would find
nothing, or what a stranger registered. The lines here name a checkout or the libraries themselves.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import Distribution, PackageNotFoundError, distributions, entry_points
from urllib.parse import unquote, urlsplit

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
            return extra_needed(what, module, f"{distribution}[{extra}]")
    return None


def extra_needed(what: str, module: str, extra: str) -> MissingExtraError:
    """Return the error that says what needs a module, and how to install its extra.

    Args:
      extra: with its distribution, ``miai-go[nn]``.
    """
    return MissingExtraError(
        f"{what} needs {module}, which is not installed: {install_line(extra)}", extra=extra
    )


def install_line(extra: str) -> str:
    """Return the command that installs ``distribution[extra]`` here: ``pip install ...``.

    From a checkout it installs that again, with the extra; else the libraries of the extra.
    """
    name, _, extras = extra.partition("[")
    try:
        distribution = Distribution.from_name(name)
    except PackageNotFoundError:
        return f"install {extra}"
    if folder := _checkout(distribution):
        return f"pip install -e '{folder}[{extras}'"
    wanted = set(extras.rstrip("]").split(","))
    libraries = [
        re.sub(r"\s", "", text.partition(";")[0])
        for text in distribution.requires or ()
        if wanted & set(_EXTRA.findall(text))
    ]
    return "pip install " + " ".join(f"'{each}'" for each in libraries)


def _checkout(distribution: Distribution) -> str:
    """Return the folder that a distribution is installed from, editable; empty for none."""
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        editable = origin.get("dir_info", {}).get("editable", False)
        return unquote(urlsplit(origin["url"]).path) if editable else ""
    except (ValueError, KeyError, AttributeError):  # whatever another installer wrote there
        return ""


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
    texts = [text for each in distributions(name=distribution) for text in each.requires or ()]
    sizes: dict[str, int] = {}
    found: list[str] = []
    for text in texts:
        for extra in _EXTRA.findall(text):
            sizes[extra] = sizes.get(extra, 0) + 1
            name = re.split(r"[^\w.-]", text.strip(), maxsplit=1)[0]
            if normalized(name) == normalized(module):
                found.append(extra)
    return min(found, key=lambda extra: sizes[extra], default=None)


def normalized(name: str) -> str:
    """Return the name of a distribution as package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()
