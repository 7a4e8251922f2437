"""What a network makes of a position: ``kata-raw-nn``."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.board import BLACK
from miai_go.encoders.states import positions_of
from miai_go.gtp.server.wire import GtpError
from miai_go.inference.protocol import Answers, Oracle
from miai_go.state import GoState
from miai_go.symmetry import INVERSES, SYMMETRIES, turned_planes, turned_policy


def parse_symmetries(words: tuple[str, ...]) -> list[int]:
    """Return the symmetries that are asked for. Raises `GtpError`."""
    word = words[0].lower() if words else "0"
    if word == "all":
        return list(range(SYMMETRIES))
    if len(words) > 1 or word not in map(str, range(SYMMETRIES)):
        raise GtpError(f"kata-raw-nn takes a symmetry, 0 to {SYMMETRIES - 1}, or all")
    return [int(word)]


def raw_answers(oracle: Oracle, state: GoState, symmetry: int) -> str:
    """Return what a network answers of a state turned by a symmetry, turned back, as KataGo does.

    Raises:
      GtpError: the network is for boards of another size.
      InferenceError: it cannot answer.
    """
    size = state.game.size
    if oracle.encoder.size != size:
        raise GtpError(f"the network is for boards of size {oracle.encoder.size}")
    planes = oracle.encoder.encode(positions_of([state]))
    answers = oracle.infer(turned_planes(planes, np.array([symmetry], np.uint8)))
    return "\n".join([f"symmetry {symmetry}", *_lines(answers, state, INVERSES[symmetry])])


def _lines(answers: Answers, state: GoState, back: int) -> list[str]:
    """Return KataGo's keys with their values, White's point of view."""
    white = -1.0 if state.to_move == BLACK else 1.0
    lines = []
    if answers.value is not None:
        win = (1 + white * float(answers.value[0])) / 2
        lines += [f"whiteWin {win:.6f}", f"whiteLoss {1 - win:.6f}", "noResult 0.000000"]
    if answers.score is not None:
        lines.append(f"whiteLead {white * float(answers.score[0]):.3f}")
    turn = np.array([back], np.uint8)
    if answers.policy is not None:
        chances = _chances(turned_policy(answers.policy, turn)[0], state)
        lines += ["policy", *_grid(chances[:-1], state.game.size)]
        lines.append(f"policyPass {chances[-1]:.6f}")
    if answers.ownership is not None:
        owned = white * turned_planes(answers.ownership[:, None], turn)[0, 0]
        lines += ["whiteOwnership", *_grid(owned.reshape(-1), state.game.size)]
    return lines


_ILLEGAL: Final = np.float32(-np.inf)


def _chances(logits: NDArray[np.float32], state: GoState) -> NDArray[np.float64]:
    """Return probabilities of the legal moves, NaN for the others, of shape (actions,)."""
    legal = np.zeros(len(logits), np.bool_)
    legal[state.legal_actions()] = True
    weights = np.where(legal, logits, _ILLEGAL).astype(np.float64)
    weights = np.exp(weights - weights.max())
    return np.where(legal, weights / weights.sum(), np.nan)


def _grid(values: NDArray[np.floating], size: int) -> list[str]:
    """Return a number for each point, the highest row first."""
    rows = values.reshape(size, size)[::-1]
    return [" ".join("NAN" if np.isnan(v) else f"{v:.6f}" for v in row) for row in rows]
