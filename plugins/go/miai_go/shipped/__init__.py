"""Weights that come with the distribution, each made by the config named in its header."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from miai.errors import WeightsError, near_matches
from miai.files import reading

FOLDER: Final = Path(__file__).parent
SUFFIX: Final = ".safetensors"

PURPOSES: Final = {
    "policy-7-13": "for alphago, alphazero and policy on boards of 7x7 to 13x13",
    "rollout-9x9": "for the rollouts of alphago",
}
"""What the shipped weights are for."""


def shipped_sums() -> dict[str, str]:
    """Return the SHA-256 of each shipped file, exports as ONNX included.

    Raises `WeightsError` if the list of them cannot be read.
    """
    path = FOLDER / "SHA256SUMS"
    with reading(path, WeightsError):
        lines = path.read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def shipped_names() -> list[str]:
    """Return the names of the shipped weights, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob(f"*{SUFFIX}"))


def find_weights(named: str, *, size: int | None = None) -> Path:
    """Return the weights file that a parameter names.

    Args:
      named: a file, or the name of shipped weights; empty for the shipped network for `size`.
      size: points on a side of the board on which a network is to play.

    Raises:
      WeightsError: there is neither a file nor shipped weights of that name, or none are shipped
        for the size.
    """
    if not named and size is not None:
        return _shipped_for(size)
    shipped = FOLDER / f"{named}{SUFFIX}"
    if "/" not in named and shipped.is_file():
        return shipped
    path = Path(named).expanduser()
    if path.is_file():
        return path
    near = near_matches(named, shipped_names())
    raise WeightsError(
        f"no weights '{named}': it is not a file, and shipped are: "
        f"{', '.join(shipped_names()) or 'none'}" + (f". {near}" if near.startswith("Did") else "")
    )


def _shipped_for(size: int) -> Path:
    """Return the policy for several sizes of board (``policy-7-13``), or else for one."""
    names = shipped_names()
    several = (re.fullmatch(r"policy-(\d+)-(\d+)", name) for name in names)
    bounds = [(ends[0], int(ends[1]), int(ends[2])) for ends in several if ends]
    serving = [name for name, low, high in bounds if low <= size <= high]
    for name in (*serving, f"policy-{size}x{size}"):
        if name in names:
            return FOLDER / f"{name}{SUFFIX}"
    ranges = ", ".join(f"{name} is for {low}x{low} to {high}x{high}" for name, low, high in bounds)
    raise WeightsError(
        f"no network for {size}x{size} is shipped ({ranges}): name weights of your own, or choose "
        "what needs no network, such as the player mcts"
    )
