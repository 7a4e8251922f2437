"""One simulation: a world is played down the trees of its observers, valued, and backed up."""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from miai.game import Player, State
from miai.plain import dumps, to_plain
from miai.search.evaluators import Evaluate, sample_chance, utilities
from miai.search.worlds.tree import Edge, Node

Observers = Literal["single", "multi", "all-seeing"]
"""Whose trees there are: the searcher's; every player's; one that is told every action."""


@dataclass(slots=True)
class Simulator:
    """What the simulations of one move share.

    Attributes:
      roots: the trees, by observer; of a single one the searcher's number.
      observers: see `Observers`.
      evaluate: values a world where its way leaves the tree.
      exploration: the weight of exploration, in utilities.
    """

    roots: dict[int, Node]
    observers: Observers
    searcher: int
    evaluate: Evaluate
    exploration: float
    rng: random.Random

    def run(self, world: State) -> None:
        """Play one simulation; the world is used up."""
        nodes = dict(self.roots)
        path: list[tuple[Edge, int]] = []
        while not world.is_terminal():
            player = world.current_player()
            if player == Player.CHANCE:
                self._step(world, sample_chance(world, self.rng), nodes)
                continue
            node = nodes[player if self.observers == "multi" else self.searcher]
            action, new = node.select(world.legal_actions(), self.exploration, self.rng)
            path.append((node.edges[action], player))
            self._step(world, action, nodes)
            if new:
                break
        returns = world.returns() if world.is_terminal() else self._value(world)
        for edge, player in path:
            edge.visits += 1
            edge.total += returns[player]

    def _value(self, world: State) -> tuple[float, ...]:
        while world.current_player() == Player.CHANCE:
            world.apply_action(sample_chance(world, self.rng))
        if world.is_terminal():
            return tuple(world.returns())
        return tuple(utilities(self.evaluate, [world])[0])

    def _step(self, world: State, action: int, nodes: dict[int, Node]) -> None:
        world.apply_action(action)
        if self.observers == "all-seeing":
            nodes[self.searcher] = nodes[self.searcher].child(action)
            return
        for observer, node in nodes.items():
            told = told_to(world, observer)
            if told is not None:
                nodes[observer] = node.child(told)


def told_to(world: State, observer: int) -> Hashable:
    """Return what the last action told a player, as a key; None for nothing."""
    observation = world.observation(observer)
    if observation is None:
        return None
    data = observation.data
    text = None if data is None else dumps(to_plain(data, what="the data of an observation"))
    return (observation.actor, observation.action, text)
