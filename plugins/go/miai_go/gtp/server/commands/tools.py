"""What GUIs and tournament programs ask beside the game."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from miai.search.protocol import SearchResult
from miai_go.coordinates import vertex
from miai_go.gtp.server.commands.ending import final_margin
from miai_go.gtp.server.commands.kinds import Handler, expect, whole
from miai_go.gtp.server.files import load_sgf, table_as_sgf, write_text
from miai_go.gtp.server.session import Session
from miai_go.gtp.server.wire import one_line
from miai_go.phases import Phase
from miai_go.scoring import result_text

_TOLD = 5


def _showboard(session: Session, words: tuple[str, ...]) -> str:
    return f"\n{session.table.state}"


def _loadsgf(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1, 2)
    before = whole(words[1], "a move number") if len(words) > 1 else None
    session.set_up(lambda: load_sgf(session.table, Path(words[0]), before=before))
    return ""


def _printsgf(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 0, 1)
    over = session.table.state.phase == Phase.OVER
    text = table_as_sgf(session.table, result=result_text(final_margin(session)) if over else "")
    if not words:
        return f"\n{text}"
    write_text(Path(words[0]), text)
    return ""


def _cputime(session: Session, words: tuple[str, ...]) -> str:
    return f"{session.player.agent.cpu_seconds():.3f}"


def _describe(session: Session, words: tuple[str, ...]) -> str:
    agent = session.player.agent
    given = " ".join(f"{name}={value}" for name, value in agent.given.items())
    return one_line(f"miai {session.agent} {given}")


def _explain(session: Session, words: tuple[str, ...]) -> str:
    if session.last is None:
        return "nothing was searched yet"
    state, result = session.last
    size = state.game.size
    name = "resign" if result.resign else vertex(result.action, size)
    lines = [f"{name}: winning chance {(result.value + 1) / 2:.3f}"]
    if result.pv:
        lines.append(f"expected: {' '.join(vertex(a, size) for a in result.pv if a <= size**2)}")
    lines += _top(result, size)
    kept = {k: v for k, v in result.statistics.items() if isinstance(v, int | float | str)}
    if kept:
        lines.append(", ".join(f"{key} {value}" for key, value in kept.items()))
    return "\n".join(one_line(line) for line in lines)


def _top(result: SearchResult, size: int) -> list[str]:
    best = sorted(result.visits.items(), key=lambda item: (-item[1], item[0]))[:_TOLD]
    return [
        f"{vertex(action, size)}: {visits} visits, winning chance "
        f"{(result.values.get(action, 0.0) + 1) / 2:.3f}"
        for action, visits in best
    ]


COMMANDS: Mapping[str, Handler] = {
    "showboard": _showboard,
    "loadsgf": _loadsgf,
    "printsgf": _printsgf,
    "cputime": _cputime,
    "gomill-cpu_time": _cputime,
    "gomill-describe_engine": _describe,
    "gomill-explain_last_move": _explain,
}
