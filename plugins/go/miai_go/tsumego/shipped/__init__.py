"""Problems and networks that come with the distribution."""

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent

PROBLEMS: Final = _FOLDER / "tsumego.sgf.gz"
"""Problems with proved answers."""

PROBLEMS_DIGEST: Final = _FOLDER / "tsumego.sha256"
"""SHA-256 of the uncompressed SGF of `PROBLEMS`, in the format of sha256sum."""

NETWORK: Final = _FOLDER / "network.safetensors"
"""The network that guesses whether blocks are safe."""

ORDERING: Final = _FOLDER / "ordering.safetensors"
"""The network that orders the prover's search."""
