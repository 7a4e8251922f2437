"""Games of 5x5 for the tests of training: trees with rollouts play them, no network needed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.go_learning.go_data_games import write_set

from miai_go.learning.data.stored_games import StoredGame
from miai_go.learning.selfplay.tree_games import TreeGames, TreeSelfPlay
from miai_go.learning.training.run_folder import TrainingJournal
from miai_go.nets.encoder import Positions
from miai_go.search.forest import TreeSettings

SIZE = 5


class Flat:
    """Holds all moves for equally likely and nobody for ahead; rollouts do the rest."""

    def value_leaves(self, leaves: Positions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        count = len(leaves)
        return np.zeros((count, leaves.size**2 + 1), np.float32), np.zeros(count, np.float32)


@cache
def rollout_games(count: int = 60, seed: int = 7) -> tuple[StoredGame, ...]:
    tree = TreeSettings(rollouts=1, mix=1.0)
    more: Any = {"simulations": 40, "noise_share": 0.25, "warm_moves": 6}
    rules = TreeGames(size=SIZE, half_komi=15, max_moves=60, tree=tree, **more)
    return tuple(TreeSelfPlay(rules, games=count, at_once=20, seed=seed).play(Flat()))


def write_games(folder: Path, count: int = 60) -> Path:
    """Write games with nothing but moves and results, as recorded games are."""
    games = rollout_games()[:count]
    plain = [StoredGame(g.size, g.moves, g.half_komi, g.result, g.margin) for g in games]
    return write_set(folder, plain)


def config_text(name: str, **values: object) -> str:
    """Return the text of a file in the folder ``configs``, with its $names filled in."""
    path = Path(__file__).parent / "configs" / f"{name}.toml"
    return Template(path.read_text("utf-8")).substitute(values)


def supervised_config(folder: Path, *, steps: int, method: str = "sgd", rate: float = 0.05) -> Path:
    games = folder / "data"
    if not games.exists():
        write_games(games)
    path = folder / f"sl-{method}-{steps}.toml"
    text = config_text("supervised", games=games, method=method, rate=rate, steps=steps)
    path.write_text(text, encoding="utf-8")
    return path


class Interrupting(TrainingJournal):
    """Stops the run, as Ctrl-C does, at a step."""

    def __init__(self, folder: Path, *, step: int) -> None:
        super().__init__(folder)
        self._step = step

    def note(self, step: int, figures: Mapping[str, float], *, line: str = "") -> None:
        super().note(step, figures, line=line)
        if step >= self._step:
            raise KeyboardInterrupt
