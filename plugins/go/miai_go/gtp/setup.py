"""Telling an engine what is played: board, rules, komi, handicap and starting position."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from miai.errors import AgentError, AgentFloodError, AgentProtocolError, AgentUnavailableError
from miai_go.gtp.client import GtpClient, one_line
from miai_go.gtp.conversation import Conversation
from miai_go.gtp.engine import EngineProcess, advice_for
from miai_go.gtp.parameters import GtpEngineParameters, GtpParameters
from miai_go.rules.coordinates import vertex

if TYPE_CHECKING:
    from miai_go.rules.game import GoGame
    from miai_go.rules.parameters import Rules
    from miai_go.rules.state import Start


COLORS: Final = ("b", "w")
"""How GTP calls players 0 and 1."""


def launch(
    parameters: GtpEngineParameters,
    conversation: Conversation,
    *,
    seed: int,
    board_size: int,
    komi: float,
) -> GtpClient:
    """Start an engine, wait for it to answer, and send its start-up commands.

    Args:
      seed, board_size, komi: what the placeholders stand for.

    Raises:
      AgentUnavailableError: it cannot be found or started, or died, hung, spoke no GTP or refused
        a command on the way.
      AgentFloodError: it wrote more than it may.
    """
    command, startup = parameters.filled(seed=seed, board_size=board_size, komi=komi)
    engine = EngineProcess(command, cwd=parameters.folder(), environment=parameters.environment)
    conversation.note(f"started process {engine.pid}: {shlex.join(command)}")
    client = GtpClient(engine, conversation, who=parameters.called)
    try:
        client.handshake(seconds=parameters.startup_timeout)
        for text in startup:
            client.ask(text, seconds=parameters.startup_timeout)
    except AgentFloodError:
        raise
    except AgentError as error:
        client.kill(str(error))
        hint = "" if client.commands else "; does its command start it in GTP mode?"
        raise AgentUnavailableError(f"{error}{hint}{advice_for(command[0])}") from error
    return client


def begin_game(client: GtpClient, game: GoGame, parameters: GtpParameters) -> None:
    """Set an engine up for the start of a game.

    Raises:
      AgentUnavailableError: it does not play on this board or under these rules.
      AgentError: it died, hung or refused a command that every engine has to know.
    """
    seconds = parameters.command_timeout
    clear_board(client, game.size, seconds)
    if parameters.rules == "told" and client.knows("kata-set-rules"):
        _tell_rules(client, game, parameters)
    client.ask(f"komi {engine_komi(game, parameters):g}", seconds=seconds)
    if not (parameters.handicap == "announced" and _announce_handicap(client, game, seconds)):
        place_stones(client, game.start, game.size, seconds)


def clear_board(client: GtpClient, size: int, seconds: float) -> None:
    """Give an engine an empty board. Raises `AgentUnavailableError` for a size it refuses."""
    response = client.command(f"boardsize {size}", seconds=seconds)
    if not response.ok:
        raise AgentUnavailableError(
            f"{client.who} does not play on a board of size {size}: {one_line(response.text)}"
        )
    client.ask("clear_board", seconds=seconds)


def engine_komi(game: GoGame, parameters: GtpEngineParameters) -> float:
    """Return the komi that an engine is told; see `GtpParameters.handicap`."""
    announced = isinstance(parameters, GtpParameters) and parameters.handicap == "announced"
    return game.rules.komi if announced else game.white_bonus


def place_stones(client: GtpClient, start: Start, size: int, seconds: float) -> None:
    """Play the stones of a starting position.

    In no order does one of them take another: every chain has a liberty in the end, and before the
    end one more.
    """
    for color, points in zip(COLORS, (start.black, start.white), strict=True):
        for point in points:
            client.ask(f"play {color} {vertex(point, size)}", seconds=seconds)


def play_move(client: GtpClient, game: GoGame, player: int, action: int, seconds: float) -> None:
    """Play a legal move on an engine's board.

    Raises:
      AgentProtocolError: it refuses the move.
      AgentError: it died or hung.
    """
    name = vertex(action, game.size)
    response = client.command(f"play {COLORS[player]} {name}", seconds=seconds)
    if not response.ok:
        raise AgentProtocolError(
            f"{client.who} refused {name} of {game.info.player_names[player]} "
            f"({one_line(response.text)}), which is legal in this game; have it play by the same "
            f"rules of ko ({game.rules.ko}) and suicide "
            f"({'allowed' if game.rules.suicide else 'forbidden'})"
        )


def _tell_rules(client: GtpClient, game: GoGame, parameters: GtpParameters) -> None:
    bonus = game.rules.compensation if parameters.handicap == "announced" else "none"
    rules = json.dumps(_kata_rules(game.rules, bonus), separators=(",", ":"))
    seconds = parameters.command_timeout
    response = client.command(f"kata-set-rules {rules}", seconds=seconds)
    if not response.ok:
        raise AgentUnavailableError(
            f"{client.who} does not play by these rules ({one_line(response.text)}): {rules}; "
            "set rules = 'own' to have it play by its own"
        )


def _kata_rules(rules: Rules, bonus: str) -> dict[str, str | bool]:
    """Return rules as KataGo writes them."""
    territory = rules.scoring == "territory"
    return {
        "ko": rules.ko.upper(),
        "scoring": rules.scoring.upper(),
        "tax": "SEKI" if territory and not rules.seki_territory else "NONE",
        "suicide": rules.suicide,
        "hasButton": False,
        "whiteHandicapBonus": "0" if bonus == "none" else bonus.upper(),
    }


def _announce_handicap(client: GtpClient, game: GoGame, seconds: float) -> bool:
    """Announce the handicap; return False when there is none or the engine knows no way."""
    start, stones = game.start, game.parameters.handicap_stones
    if not stones or start.white or len(start.black) != stones:
        return False
    wanted = [vertex(point, game.size) for point in start.black]
    if client.knows("set_free_handicap"):
        client.ask(f"set_free_handicap {' '.join(wanted)}", seconds=seconds)
        return True
    if not client.knows("fixed_handicap") or game.parameters.handicap_points:
        return False
    placed = client.ask(f"fixed_handicap {stones}", seconds=seconds).split()
    _check_places(client, placed, wanted)
    return True


def _check_places(client: GtpClient, placed: Sequence[str], wanted: Sequence[str]) -> None:
    if {word.upper() for word in placed} != set(wanted):
        raise AgentProtocolError(
            f"{client.who} placed the handicap on {one_line(' '.join(placed))}, not on "
            f"{' '.join(wanted)}"
        )
