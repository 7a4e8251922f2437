"""The end of a game: who won, and what lives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from miai_go.coordinates import vertex
from miai_go.dead_stones import settled_margin
from miai_go.gtp.server.commands.kinds import Handler, expect
from miai_go.gtp.server.session import Session
from miai_go.gtp.server.table import stones_in_chains
from miai_go.gtp.server.wire import GtpError
from miai_go.scoring import result_text, without_dead

_STATUSES = ("alive", "dead", "seki", "black_territory", "white_territory", "dame")


def final_margin(session: Session) -> float:
    """Return Black's margin if play ended here, by the rules of the game; points."""
    return settled_margin(session.table.state)


def _final_score(session: Session, words: tuple[str, ...]) -> str:
    return result_text(final_margin(session))


def _final_status_list(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    status = words[0].lower()
    if status not in _STATUSES:
        raise GtpError(f"a status is one of {', '.join(_STATUSES)}")
    dead = _dead(session)
    if status in ("alive", "dead"):
        wanted = status == "dead"
        chains = [c for _, c in stones_in_chains(session.table) if (c[0] in dead) == wanted]
        return _names(session, chains)
    if status == "seki":
        return ""  # such stones are listed as alive
    cleared = without_dead(session.table.state.board, tuple(sorted(dead)))
    owner = {"black_territory": 1, "white_territory": -1, "dame": 0}[status]
    empty = (cleared.owners() == owner) & (cleared.stones() == 0)
    return _names(session, [[point] for point in np.flatnonzero(empty).tolist()])


def _dead(session: Session) -> set[int]:
    game = session.table.game
    if game.rules.dead_stones == "none":
        return set()
    return set(game.judge.dead_points(session.table.state))


def _names(session: Session, groups: list[list[int]]) -> str:
    size = session.table.game.size
    return "\n".join(" ".join(vertex(point, size) for point in group) for group in groups)


COMMANDS: Mapping[str, Handler] = {
    "final_score": _final_score,
    "final_status_list": _final_status_list,
}
