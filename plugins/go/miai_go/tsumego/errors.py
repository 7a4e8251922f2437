"""What can be wrong with a problem of life and death."""

from __future__ import annotations

from miai.errors import MiaiError


class ProblemError(MiaiError):
    """A problem that cannot be read or asked; the message says why."""
