"""Approximate equilibria by regret minimisation, in files that a run continues bit for bit."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.equilibria.kernels import sequence_form as kernels
from miai.equilibria.tree import Policy, Tree, exploitability
from miai.errors import ConfigError, WeightsError
from miai.game import Game
from miai.progress import Progress
from miai.tensors import MAX_TEXT, FileHeader, Tensors

Algorithm = Literal["cfr", "cfr+", "pcfr+"]
ALGORITHMS: Final[Mapping[Algorithm, np.int64]] = {
    "cfr": kernels.CFR,
    "cfr+": kernels.CFR_PLUS,
    "pcfr+": kernels.PREDICTIVE,
}

Row = tuple[int, float, float]
"""After how many iterations the average policy has which value for player 0 and exploitability."""

_STEP_SECONDS: Final = 0.2
_SAVE_SECONDS: Final = 10.0
_TABLES: Final = ("regrets", "sums", "policy")
_MAX_ROWS: Final = 1000


class SolutionHeader(FileHeader):
    """The header of a file with an approximate equilibrium, which a run can continue.

    Attributes:
      game, game_version, parameters: the game.
      algorithm: what made it.
      iterations: how many.
      tree: digest of the game's tree.
      rows: how it converged, at 1, 2, 5, 10, 20, 50, ... iterations.
    """

    KEY: ClassVar[str] = "miai.equilibrium"
    KIND: ClassVar[str] = "an equilibrium"
    REMEDY: ClassVar[str] = "name a file that `miai solve` wrote"

    game: str = Field(max_length=MAX_TEXT)
    game_version: int
    parameters: dict[str, Any]
    algorithm: Algorithm
    iterations: int = Field(ge=0)
    tree: str = Field(max_length=64)
    rows: tuple[Row, ...] = Field(default=(), max_length=_MAX_ROWS)

    def check_game(self, game: Game, path: Path) -> None:
        """Raise `WeightsError` unless the file is for this game."""
        info, parameters = game.info, game.parameters.model_dump(mode="json")
        own = (self.game, self.game_version, self.parameters)
        if own != (info.name, info.version, parameters):
            raise WeightsError(
                f"{path}: is for {self.game} v{self.game_version} {self.parameters}, not for "
                f"{info.name} v{info.version} {parameters}; solve this game with `miai solve`"
            )


def averaged(sums: NDArray[np.float64], starts: NDArray[np.int64]) -> Policy:
    """Return summed policies as one; uniform where the player never came."""
    counts = np.diff(starts)
    totals = np.repeat(np.add.reduceat(sums, starts[:-1]), counts)
    policy = np.repeat(1.0 / counts, counts)
    np.divide(sums, totals, out=policy, where=totals > 0)
    return policy


class Solver:
    """Regret minimisation on a tree: CFR, CFR+ or PCFR+, with alternating updates.

    Attributes:
      tree: the tree.
      algorithm: its name.
      rows: how it converged so far.
    """

    def __init__(self, tree: Tree, algorithm: Algorithm) -> None:
        self.tree, self.algorithm = tree, algorithm
        self.rows: list[Row] = []
        self._done = np.zeros(1, np.int64)
        self._tables = kernels.Tables(np.zeros(tree.slots), np.zeros(tree.slots), tree.uniform())
        reach, values, predictions = np.zeros((3, tree.slots + 2))
        self._work = reach, values, predictions

    @property
    def iterations(self) -> int:
        """The number of iterations so far."""
        return int(self._done[0])

    def advance(self, count: int) -> None:
        """Run some iterations."""
        kernels.iterate(
            self.tree.form[:],
            self._tables[:],
            ALGORITHMS[self.algorithm],
            self._done,
            np.int64(count),
            self._work,
        )

    def average(self) -> Policy:
        """Return the average policy, which converges to an equilibrium."""
        return averaged(self._tables.sums, self.tree.form.starts)

    def measure(self) -> None:
        """Add a row about the average policy, unless the last one is."""
        if not self.rows or self.rows[-1][0] != self.iterations:
            measured = exploitability(self.tree, self.average())
            self.rows.append((self.iterations, measured.values[0], measured.exploitability))

    # -- files ------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write the file atomically. Raises `WeightsError`."""
        game = self.tree.game
        header = SolutionHeader(
            game=game.info.name,
            game_version=game.info.version,
            parameters=game.parameters.model_dump(mode="json"),
            algorithm=self.algorithm,
            iterations=self.iterations,
            tree=self.tree.digest,
            rows=tuple(row for row in self.rows if _milestone(row[0]) == row[0]),
        )
        # As the bits of the numbers: weights files have no float64.
        tables = {
            name: table.view(np.int64) for name, table in zip(_TABLES, self._tables, strict=True)
        }
        tree = {"keys": self.tree.keys, "starts": self.tree.form.starts}
        header.write(path, {**tables, **tree, "actions": self.tree.actions})

    def load(self, path: Path) -> None:
        """Continue from a file.

        Raises:
          WeightsError: the file cannot be read, or is for another game.
          ConfigError: another algorithm made it.
        """
        header, tensors = SolutionHeader.read_all(path)
        header.check_game(self.tree.game, path)
        if header.tree != self.tree.digest:
            raise WeightsError(f"{path}: the game's tree has changed since; use another folder")
        if header.algorithm != self.algorithm:
            raise ConfigError(
                f"{path}: was made by {header.algorithm}, not {self.algorithm}; use another folder"
            )
        tables = (numbers(tensors, name, self.tree.slots, path).copy() for name in _TABLES)
        self._tables = kernels.Tables(*tables)
        self._done[0] = header.iterations
        self.rows = list(header.rows)


def numbers(tensors: Tensors, name: str, count: int, path: Path) -> NDArray[np.float64]:
    """Return a table of a file. Raises `WeightsError` unless it has as many finite numbers."""
    bits = tensors.get(name, np.zeros(0))
    if bits.dtype != np.int64 or bits.shape != (count,) or not np.isfinite(bits.view("<f8")).all():
        raise WeightsError(f"{path}: '{name}' is not a table of {count} finite numbers")
    return bits.view(np.float64)


def _milestone(count: int) -> int:
    """Return the first of 1, 2, 5, 10, 20, 50, ... that is not less."""
    power: int = 10 ** (len(str(max(1, count))) - 1)
    return next(m * power for m in (1, 2, 5, 10) if m * power >= count)


def run(solver: Solver, iterations: int, path: Path, progress: Progress) -> None:
    """Bring a solver to a number of iterations, and write its file.

    The file is also written at once, every ten seconds, and after Ctrl-C.
    """
    step, saved = 1, -math.inf  # what cannot be written is refused at once
    progress.begin(done=solver.iterations, total=iterations)
    try:
        while solver.iterations < iterations:
            began, before = time.monotonic(), solver.iterations
            if _milestone(before) == before:  # also of a file that was written at one
                solver.measure()
            solver.advance(min(step, iterations - before, _milestone(before + 1) - before))
            took = time.monotonic() - began
            step = max(1, 2 * step if took < _STEP_SECONDS else step // 2)
            count, _, regret = solver.rows[-1] if solver.rows else (0, 0.0, math.nan)
            line = f"exploitability {regret:.3g} after {count:,}"
            progress.reach(solver.iterations, line, every=5.0)
            if time.monotonic() - saved > _SAVE_SECONDS:
                solver.save(path)
                saved = time.monotonic()
        solver.measure()
    finally:
        progress.close()
        solver.save(path)
