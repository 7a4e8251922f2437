"""Weights that come with the distribution, each made by the config named in its header."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from miai.errors import WeightsError, near_matches

FOLDER: Final = Path(__file__).parent
SUFFIX: Final = ".safetensors"

TSUMEGO: Final = FOLDER / "tsumego" / "network.safetensors"
"""The life-and-death network."""

_OTHER_NAMES: Final = {"value-9x9": "policy-9x9"}
"""Names under which shipped weights are found beside their own."""


def shipped_names() -> list[str]:
    """Return the names of the shipped weights, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob(f"*{SUFFIX}"))


def find_weights(named: str, *, default: str) -> Path:
    """Return the weights file that a parameter names.

    `value-9x9` is another name of `policy-9x9`, whose network has a policy and a value head.

    Args:
      named: a file, or the name of shipped weights; empty for the default.
      default: a name of shipped weights.

    Raises:
      WeightsError: there is neither a file nor shipped weights of that name.
    """
    wanted = named or default
    shipped = FOLDER / f"{_OTHER_NAMES.get(wanted, wanted)}{SUFFIX}"
    if "/" not in wanted and shipped.is_file():
        return shipped
    path = Path(wanted).expanduser()
    if path.is_file():
        return path
    names = shipped_names()
    if not named:
        raise WeightsError(
            f"no weights '{default}' are shipped: name a file that training made; shipped are: "
            f"{', '.join(names) or 'none'}"
        )
    near = near_matches(named, names)
    raise WeightsError(
        f"no weights '{named}': it is not a file, and shipped are: {', '.join(names) or 'none'}"
        + (f". {near}" if near.startswith("Did") else "")
    )
