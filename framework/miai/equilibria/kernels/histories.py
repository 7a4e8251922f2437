"""Sums over all histories of a game that is given by its worlds and the nodes of its players.

A *world* is what the future depends on, so many histories lead to one: Dark Hex on nine cells has
2 * 10**10 histories and 420,000 worlds. A player's *node* is a sequence of its observations.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.equilibria.kernels import inlined, kernel

Int = int | np.signedinteger[Any]
Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Floats = NDArray[np.float64]

NOTHING: Final = -1
"""No observation, no information set."""

END: Final = -4
"""The actor of a world in which the game has ended; `Player.TERMINAL`."""


class Worlds(NamedTuple):
    """A game of w worlds, the first at the start, and e edges, each a world with an action.

    Attributes:
      actors: (w,) the player that decides, chance (another negative number), or `END`.
      edges: (w, 2) the first edge of a world, and the end of its edges.
      actions: (e,) ascending in a world.
      children: (e,) the world that follows.
      chances: (e,) the probability of chance; 1 for the actions of players.
      seen: (2, e) what each player observes, a number, or `NOTHING`.
      payoffs: (w,) at the end, player 0's return less half of the constant sum.
    """

    actors: Numbers
    edges: Ints
    actions: Ints
    children: Numbers
    chances: Floats
    seen: Numbers
    payoffs: Floats


class Nodes(NamedTuple):
    """The n nodes of a player, the first at the start.

    Attributes:
      seen: (n,) what it observed last.
      children: (n, 2) the first of the nodes that follow, and their end; ascending by `seen`.
      slots: (n,) the slot of the first action; `NOTHING` where it never decides.
    """

    seen: Numbers
    children: Numbers
    slots: Numbers


@kernel
def count_histories(
    packed: tuple[Any, ...], ways: Floats, lengths: Numbers, missing: Numbers, queue: Numbers
) -> None:
    """Count the histories that lead to each world; in a game without end not all.

    Args:
      packed: `Worlds`.
      ways: (w,) written: how many histories lead there; 1 for the first world, then zeros.
      lengths: (w,) zeros; written: the length of the longest.
      missing: (w,) how many edges lead there; written: how many were not counted.
      queue: (w,) zeros, work space.
    """
    worlds = Worlds(*packed)
    size, done = 1, 0
    while done < size:
        world = queue[done]
        done += 1
        for edge in range(worlds.edges[world, 0], worlds.edges[world, 1]):
            child = worlds.children[edge]
            ways[child] += ways[world]
            lengths[child] = max(lengths[child], lengths[world] + 1)
            missing[child] -= 1
            if missing[child] == 0:
                queue[size] = child
                size += 1


@inlined
def _after(nodes: Nodes, node: Int, seen: Int) -> Int:
    """Return the node that follows an observation."""
    if seen == NOTHING:
        return node
    child: Int = nodes.children[node, 0]
    while nodes.seen[child] != seen:
        child += 1
    return child


@kernel
def walk(
    packed: tuple[Any, ...],
    first: tuple[Any, ...],
    second: tuple[Any, ...],
    reach: Floats,
    values: Floats,
    ends: tuple[Ints, Ints, Floats],
    frames: Ints,
    chances: Floats,
) -> None:
    """Visit all histories that a policy reaches, at least but for one player.

    Args:
      packed: `Worlds`.
      first, second: `Nodes` of the players.
      reach: (s + 2,) how probable the policy makes each sequence of its player.
      values: (s + 2,) what each sequence earns its player against the other's policy where it ends
        the game is added to it.
      ends: for each history that ends the game, both sequences, and the payoff times the
        probability of chance are written here. If these arrays are empty, values are summed.
      frames: (length of the longest history, 7) work space.
      chances: (length of the longest history,) work space.
    """
    worlds, nodes0, nodes1 = Worlds(*packed), Nodes(*first), Nodes(*second)
    firsts, seconds, payoffs = ends
    depth, written = 0, 0
    frames[0, :3] = 0
    frames[0, 3], frames[0, 4] = len(reach) - 2, len(reach) - 1
    frames[0, 5], frames[0, 6] = worlds.edges[0]
    chances[0] = 1.0
    while depth >= 0:
        edge = frames[depth, 5]
        if edge == frames[depth, 6]:
            depth -= 1
            continue
        frames[depth, 5] = edge + 1
        world, node0, node1 = frames[depth, 0], frames[depth, 1], frames[depth, 2]
        sequence0, sequence1 = frames[depth, 3], frames[depth, 4]
        chance = chances[depth] * worlds.chances[edge]
        if worlds.actors[world] == 0:
            sequence0 = nodes0.slots[node0] + edge - worlds.edges[world, 0]
        elif worlds.actors[world] == 1:
            sequence1 = nodes1.slots[node1] + edge - worlds.edges[world, 0]
        child = worlds.children[edge]
        if worlds.actors[child] == END:
            payoff = chance * worlds.payoffs[child]
            if len(payoffs):
                firsts[written], seconds[written] = sequence0, sequence1
                payoffs[written] = payoff
                written += 1
            else:
                values[sequence0] += payoff * reach[sequence1]
                values[sequence1] -= payoff * reach[sequence0]
        elif reach[sequence0] > 0.0 or reach[sequence1] > 0.0:
            depth += 1
            chances[depth] = chance
            frames[depth, 0] = child
            frames[depth, 1] = _after(nodes0, node0, worlds.seen[0, edge])
            frames[depth, 2] = _after(nodes1, node1, worlds.seen[1, edge])
            frames[depth, 3], frames[depth, 4] = sequence0, sequence1
            frames[depth, 5], frames[depth, 6] = worlds.edges[child]
