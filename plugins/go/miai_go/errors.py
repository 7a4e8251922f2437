"""Errors of Go: problems of life and death, networks and their data."""

from __future__ import annotations

from miai.errors import MiaiError
from miai.plugins.extras import extra_needed


class InferenceError(MiaiError):
    """A network cannot answer."""


class DataError(MiaiError):
    """Games or shards that cannot be read or written."""


class TrainingError(MiaiError):
    """Training that cannot start, continue or be resumed."""


class DivergedError(TrainingError):
    """A loss that is not finite."""


def require_torch(what: str) -> None:
    """Raise `MissingExtraError` if torch, which `what` needs, is not installed."""
    from importlib.util import find_spec

    for module in ("torch", "safetensors"):
        if find_spec(module) is None:
            raise extra_needed(what, module, "miai-go[nn]")


class ProblemError(MiaiError):
    """A problem that cannot be read or solved; the message says why."""


def first_line(error: Exception) -> str:
    """Return the first line of what an error of a library says, or its kind."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__
