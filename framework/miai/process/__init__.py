"""Child processes, worker pools, and agents in processes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miai.process.agent_process import AgentProcess
    from miai.process.limits import ProcessLimits


__all__ = ["AgentProcess", "ProcessLimits"]


def __getattr__(name: str) -> Any:
    # Children import this package too and do not need the referee's side.
    if name == "AgentProcess":
        from miai.process.agent_process import AgentProcess

        return AgentProcess
    if name == "ProcessLimits":
        from miai.process.limits import ProcessLimits

        return ProcessLimits
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
