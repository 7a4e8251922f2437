"""Child processes, worker pools, and agents in processes of their own."""

from miai.process.sandbox import ProcessLimits

__all__ = ["ProcessLimits"]
