"""Won endings of Reconnaissance Blind Chess, played by rbc-strong with the opponent hidden.

Endings are made from a seed: a queen, a rook or two bishops against a king, or three to five pawns
against two fewer. Both players know the position; then White passes and senses nothing for four
turns, in which Black moves at random. So Black is hidden when the game begins. An ending counts if
the embedded engine, on the true board, gives White three pawns or more there, and wins it against
the evader.

The evader sees the board and plays the move of the embedded engine; it passes where chess has no
move for it. The passer always passes.

Each game is written to a journal in ``runs``, named after code, budget and seed: the same command
continues after an interruption, and begins again when the code has changed.

    python benchmarks/rbc_endings.py --endings 200
    python benchmarks/rbc_endings.py --endings 40 --against passer --json
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chess

from common.conditions import conditions
from common.evidence import ROOT, digest, record, rows
from miai.clock import ClockReading, TimeControl
from miai.files import Journal
from miai_rbc.agents.belief_agents import StrongAgent
from miai_rbc.engines.kernel import KernelEngine, KernelParameters
from miai_rbc.rbc_parameters import RbcParameters, StrongParameters
from miai_rbc.rules.actions import PASS, SENSE_NOTHING, action_of
from miai_rbc.rules.game import RbcGame, RbcState
from rbc_matches import wilson

KINDS = {"pawns": "", "queen": "Q", "rook": "R", "bishops": "BB"}
HIDDEN_TURNS, ENGINE_DEPTH, EVADER_DEPTH = 4, 6, 6
WON = 300  # centipawns
Player = Callable[[RbcState], int]


def position(kind: str, rng: random.Random) -> chess.Board:
    """Return a random valid position, White to move."""
    theirs = rng.randint(1, 3)
    pieces = KINDS[kind] or "P" * (theirs + 2) + "p" * theirs
    while True:
        board = chess.Board(None)
        squares = rng.sample(range(64), 2 + len(pieces))
        for square, symbol in zip(squares, "Kk" + pieces, strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(symbol))
        bishops = board.bishops & chess.BB_LIGHT_SQUARES
        pair = kind != "bishops" or bishops.bit_count() == 1
        if pair and board.is_valid() and not board.is_game_over():
            return board


def engine(depth: int) -> Player:
    """Return a player who sees the board."""
    search = KernelEngine(KernelParameters(depth=depth))

    def move(state: RbcState) -> int:
        if state.senses:
            return SENSE_NOTHING
        board = state.board()
        if not any(board.generate_legal_moves()) and not board.is_check():
            return PASS
        return action_of(int(search.evaluate(state.boards.rows).moves[0, 0]))

    return move


def passer(state: RbcState) -> int:
    """Return a pass."""
    return SENSE_NOTHING if state.senses else PASS


def play(state: RbcState, white: Player, black: Player) -> float:
    """Play to the end and return White's result."""
    while not state.is_terminal():
        state.apply_action((white, black)[state.current_player()](state))
    return state.returns()[0]


def hide(board: chess.Board, rng: random.Random) -> RbcState | None:
    """Return the game after Black's hidden turns; None if it had only captures and promotions."""
    state = RbcGame(RbcParameters(fen=board.fen())).new_initial_state()
    for _ in range(HIDDEN_TURNS):
        for action in (SENSE_NOTHING, PASS, SENSE_NOTHING):
            state.apply_action(action)
        board = state.board()
        quiet = [m for m in board.legal_moves if not board.is_capture(m) and not m.promotion]
        if not quiet:
            return None
        state.apply_action(state.string_to_action(rng.choice(quiet).uci()))
    return None if state.board().is_check() else state


def endings(kind: str, count: int, seed: int) -> Iterator[RbcState]:
    """Yield endings that the embedded engine wins on the true board."""
    rng = random.Random(f"{seed} {kind}")
    search = KernelEngine(KernelParameters(depth=ENGINE_DEPTH))
    white, evader = engine(ENGINE_DEPTH), engine(EVADER_DEPTH)
    while count:
        state = hide(position(kind, rng), rng)
        if state is None or search.evaluate(state.boards.rows).scores[0] < WON:
            continue
        if play(state.clone(), white, evader) > 0:
            count -= 1
            yield state


class Agent:
    """rbc-strong as White, from a state on; counts the requests and the seconds of a game."""

    def __init__(self, evaluations: int) -> None:
        self._parameters = StrongParameters(evaluations=evaluations)

    def begin(self, state: RbcState, seed: int) -> None:
        """Begin a game with the history of a state."""
        self.seconds, self.decisions = {"sense": 0.0, "move": 0.0}, Counter[str]()
        self.agent = StrongAgent(state.game, self._parameters)
        self.agent.new_game(seed, player=0)
        self._replayed = state.game.new_initial_state()
        if (first := self._replayed.observation(0)) is not None:
            self.agent.observe(first)
        self._follow(state)

    def _follow(self, state: RbcState) -> None:
        for action in state.history()[len(self._replayed.history()) :]:
            self._replayed.apply_action(action)
            if (observation := self._replayed.observation(0)) is not None:
                self.agent.observe(observation)

    def __call__(self, state: RbcState) -> int:
        """Return a sense or a request."""
        self._follow(state)
        started = time.perf_counter()
        action = self.agent.act(ClockReading(control=TimeControl())).action
        phase = "sense" if state.senses else "move"
        self.seconds[phase] += time.perf_counter() - started
        self.decisions[phase] += 1
        return action


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the share of won endings, by kind and opponent."""
    black = {"evader": engine(EVADER_DEPTH), "passer": passer}
    agent, won = Agent(arguments.evaluations), dict[str, dict[str, list[float]]]()
    seconds, decisions = {"sense": 0.0, "move": 0.0}, Counter[str]()
    journal = Journal(arguments.journal or journal_of(arguments))
    journal.path.parent.mkdir(parents=True, exist_ok=True)
    done = {tuple(key): values for key, *values in journal.read()}
    for kind in arguments.kinds:
        states = list[RbcState]()
        for name in arguments.against:
            for number in range(arguments.endings // len(KINDS)):
                key = (name, kind, number)
                if key not in done:
                    count = arguments.endings // len(KINDS)
                    states = states or list(endings(kind, count, arguments.seed))
                    agent.begin(states[number], number)
                    copy = states[number].clone()
                    result = play(copy, agent, black[name])
                    done[key] = [result, dict(agent.seconds), dict(agent.decisions)]
                    journal.append([[key, *done[key]]])
                    if arguments.verbose:
                        turns = copy.fullmove_number - states[number].fullmove_number
                        print(*key, result, turns, states[number].board().fen(), file=sys.stderr)
                result, spent, decided = done[key]
                won.setdefault(name, {}).setdefault(kind, []).append(result)
                seconds = {phase: total + spent[phase] for phase, total in seconds.items()}
                decisions.update(decided)
    return {name: figures(kinds) for name, kinds in won.items()} | {
        "seconds": {k: round(v / decisions[k], 3) for k, v in seconds.items()}
    }


def journal_of(arguments: argparse.Namespace) -> Path:
    """Return the journal of the games of this code, budget and seed."""
    code = digest([*rows()["rbc-endings"].code, "benchmarks/rbc_endings.py"])
    name = f"rbc-endings-{code}-{arguments.evaluations}-{arguments.seed}.jsonl"
    return ROOT / "runs" / name


def figures(kinds: dict[str, list[float]]) -> dict[str, Any]:
    """Return the share won against one opponent."""
    results = [result for values in kinds.values() for result in values]
    wins = sum(result > 0 for result in results)
    return {
        "games": len(results),
        "wins": wins,
        "losses": sum(result < 0 for result in results),
        "won_95": [round(end, 3) for end in wilson(wins, len(results))],
        "by_kind": {k: f"{sum(r > 0 for r in v)} of {len(v)}" for k, v in kinds.items()},
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--endings", type=int, default=8, help="Endings (8), a quarter of each kind"
    )
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--against", nargs="+", default=["evader", "passer"])
    parser.add_argument("--evaluations", type=int, default=5000, help="Budget of a sense or move")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the endings")
    parser.add_argument("--journal", type=Path, help="Journal of the games (default: in runs)")
    parser.add_argument("--verbose", action="store_true", help="Print every game to stderr")
    parser.add_argument("--record", action="store_true", help="Write the row of the page")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    report = {"benchmark": "rbc_endings", **conditions(), **measure(arguments)}
    if arguments.record:
        shares = [
            f"against the {name}: {report[name]['wins']} of {report[name]['games']} won, "
            f"{100 * report[name]['won_95'][0]:.1f} to {100 * report[name]['won_95'][1]:.1f} %"
            for name in arguments.against
        ]
        record("rbc-endings", "; ".join(shares))
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
