"""Many games in step: their sensible moves, drawing a move for each, playing these."""

import math

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.playouts import fills_eye
from miai_go.kernels.rules import ACTION, HEADER, RECORD, SIZE, Int, Words, legal, reset_unread
from miai_go.kernels.trail import COLOR, LAST, play_on


@part
def mask_sensible(b: Words, c: Int, out: NDArray[np.bool_]) -> None:
    """Write whether each action is legal (simple ko) and fills no own eye; a pass always."""
    size = np.int64(b[SIZE])
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            action = np.int64(b[p + ACTION])
            out[action] = b[p] == 0 and legal(b, p, c, False) and not fills_eye(b, p, c)
            p += RECORD
        p += RECORD
    out[size * size] = True


@kernel
def sensible_moves(
    words: NDArray[np.uint32], trails: NDArray[np.int16], out: NDArray[np.bool_]
) -> None:
    """Write whether each action is sensible in each position, (positions, size * size + 1)."""
    for row in range(len(words)):
        reset_unread(words[row])
        mask_sensible(words[row], np.int64(trails[row, COLOR]), out[row])


@kernel
def draw_moves(
    logits: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    heat: NDArray[np.float64],
    dice: NDArray[np.float64],
    out: NDArray[np.int16],
) -> None:
    """Draw an action for each row from the softmax of its logits over the allowed actions.

    Args:
      heat: the temperature of each row; 0: the most likely action.
      dice: a number from 0 to below 1 for each row.
    """
    for row in range(len(logits)):
        # The best action, and the logit that is subtracted so that no power overflows.
        best = 0
        highest = -math.inf
        for action in range(logits.shape[1]):
            if allowed[row, action] and logits[row, action] > highest:
                highest = float(logits[row, action])
                best = action
        out[row] = best
        if heat[row] <= 0:
            continue

        # Draw: the powers are computed twice, as a kernel has no array for them. If rounding leaves
        # something of the dice, the best action stays.
        total = 0.0
        for action in range(logits.shape[1]):
            if allowed[row, action]:
                total += math.exp((logits[row, action] - highest) / heat[row])
        remaining = dice[row] * total
        for action in range(logits.shape[1]):
            if allowed[row, action]:
                remaining -= math.exp((logits[row, action] - highest) / heat[row])
                if remaining < 0:
                    out[row] = action
                    break


@kernel
def play_moves(
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    actions: NDArray[np.int16],
    over: NDArray[np.bool_],
) -> None:
    """Play a legal action in each position, and write whether each game ends by a second pass."""
    for row in range(len(words)):
        b = words[row]
        trail = trails[row]
        reset_unread(b)
        passed = np.int64(b[SIZE]) * np.int64(b[SIZE])
        over[row] = actions[row] == passed and trail[LAST] == passed
        play_on(b, trail, np.int64(actions[row]))
