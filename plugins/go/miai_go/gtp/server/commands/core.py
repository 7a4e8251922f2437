"""Commands about the engine itself, its board and its rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from miai import __version__
from miai.errors import MiaiError
from miai_go.board import MAX_SIZE
from miai_go.gtp.server.commands.kinds import Handler, expect, number, whole
from miai_go.gtp.server.rule_names import (
    KGS_NAMES,
    SETTLED,
    changed_rule,
    parse_rules,
    rules_as_json,
)
from miai_go.gtp.server.session import Session
from miai_go.gtp.server.wire import GtpError


def _protocol_version(session: Session, words: tuple[str, ...]) -> str:
    return "2"


def _name(session: Session, words: tuple[str, ...]) -> str:
    return f"miai {session.agent}".strip()


def _version(session: Session, words: tuple[str, ...]) -> str:
    told = session.player.agent.version
    return f"{__version__} ({told})" if told else __version__


def _known_command(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    return "true" if words[0] in _all() else "false"


def _list_commands(session: Session, words: tuple[str, ...]) -> str:
    return "\n".join(_all())


def _all() -> list[str]:
    from miai_go.gtp.server.commands import COMMANDS, STREAMING

    return sorted({*COMMANDS, *STREAMING})


def _quit(session: Session, words: tuple[str, ...]) -> str:
    session.ended = True
    return ""


def _boardsize(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1, 2)
    size = whole(words[0], "a size")
    if words[1:] not in ((), words[:1]) or not 1 <= size <= MAX_SIZE:
        raise GtpError("unacceptable size")
    try:
        session.set_up(lambda: session.table.clear(board_size=size))
    except MiaiError as error:
        raise GtpError(f"unacceptable size: {error}") from error
    return ""


def _clear_board(session: Session, words: tuple[str, ...]) -> str:
    session.set_up(session.table.clear, begin=True)
    return ""


def _komi(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    komi = number(words[0], "komi")
    session.set_up(lambda: session.table.set_komi(komi))
    return ""


def _get_komi(session: Session, words: tuple[str, ...]) -> str:
    return f"{session.table.game.rules.komi:g}"


def _get_rules(session: Session, words: tuple[str, ...]) -> str:
    return rules_as_json(session.table.game.rules)


def _set_rules(session: Session, words: tuple[str, ...]) -> str:
    if not words:
        raise GtpError("syntax error: name a rule set, or give a dictionary")
    _change_rules(session, parse_rules(" ".join(words)))
    return ""


def _set_rule(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 2)
    _change_rules(session, changed_rule(session.table.game.rules, words[0], words[1]))
    return ""


def _kgs_rules(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    if words[0].lower() not in KGS_NAMES:
        raise GtpError(f"kgs-rules takes {', '.join(KGS_NAMES)}")
    _change_rules(session, parse_rules(KGS_NAMES[words[0].lower()]))
    return ""


def _change_rules(session: Session, values: Mapping[str, Any]) -> None:
    """Change what rules settle; komi and position stay."""
    unsaid = dict.fromkeys(SETTLED)
    session.set_up(lambda: session.table.change(**{**unsaid, **values}))


COMMANDS: Mapping[str, Handler] = {
    "protocol_version": _protocol_version,
    "name": _name,
    "version": _version,
    "known_command": _known_command,
    "list_commands": _list_commands,
    "quit": _quit,
    "boardsize": _boardsize,
    "clear_board": _clear_board,
    "komi": _komi,
    "get_komi": _get_komi,
    "kata-get-rules": _get_rules,
    "kata-set-rules": _set_rules,
    "kata-set-rule": _set_rule,
    "kgs-rules": _kgs_rules,
}
