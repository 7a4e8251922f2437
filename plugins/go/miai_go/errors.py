"""What can go wrong with networks and their data, beside what the framework knows.

What can be wrong with a problem of life and death.
"""

from __future__ import annotations

from miai.errors import MiaiError


class MissingExtraError(MiaiError):
    """A library is not installed; the message names the extra that brings it."""


class WeightsError(MiaiError):
    """A weights file that cannot be read, is not what it says, or does not fit."""


class InferenceError(MiaiError):
    """A network, or the server that holds it, that cannot answer."""


class DataError(MiaiError):
    """Games or shards that cannot be read or written."""


class TrainingError(MiaiError):
    """Training that cannot begin, go on or be resumed."""


class DivergedError(TrainingError):
    """A loss that is no finite number."""


def require_torch(what: str) -> None:
    """Raise `MissingExtraError` where torch is not installed. `what` needs it."""
    from importlib.util import find_spec

    for module in ("torch", "safetensors"):
        if find_spec(module) is None:
            raise MissingExtraError(
                f"{what} needs {module}, which is not installed: pip install 'miai-go[nn]'"
            )


class ProblemError(MiaiError):
    """A problem that cannot be read or asked; the message says why."""
