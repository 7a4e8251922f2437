"""Forfeit or void: what the outcome of a game means. Decided here and nowhere else.

=====================================================  ===========================================
what happened                                          what it means
=====================================================  ===========================================
the game ended by its rules, its move limit or a       the result stands
resignation
an agent raised, died, hung, flooded, answered         a forfeit: the result stands, the agent lost
nonsense or an illegal action, or lost on time
an agent could not be started any more                 void: the game is played again
the worker died or hung; the game, the referee or a    void: the game is played again
plugin raised an exception
an agent crashed while the run was being stopped       dropped: whoever stops the run may have
                                                       stopped the agent; the game stays pending
=====================================================  ===========================================

docs/errors.md tells the same to users.
"""

from __future__ import annotations

from enum import Enum

from miai.record import Termination
from miai_tournaments.executors.jobs import Outcome


class Verdict(Enum):
    """What is done with an outcome: committed, played again as void, or dropped unseen."""

    RESULT = "result"
    VOID = "void"
    DROPPED = "dropped"


def judge(outcome: Outcome, *, stopping: bool) -> Verdict:
    """Return what the outcome of a game means; `stopping` is whether the run was told to end."""
    result = outcome.result
    if stopping and (result is None or result.termination == Termination.CRASH):
        return Verdict.DROPPED
    if result is None or result.termination == Termination.UNAVAILABLE:
        return Verdict.VOID
    return Verdict.RESULT


def void_reason(outcome: Outcome) -> str:
    """Return why a game was void, in words."""
    return outcome.reason if outcome.result is None else outcome.result.detail
