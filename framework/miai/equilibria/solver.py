"""Approximate equilibria by regret minimisation: a solver, its files and their agent."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.equilibria.kernels.sequence_form import iterate
from miai.equilibria.tree import START, Policy, Tree, digest_after, exploitability
from miai.equilibria.worlds import line_of
from miai.errors import UnsuitableGameError, WeightsError
from miai.game import Game
from miai.parameters import Parameters, parameter
from miai.progress import Progress
from miai.tensors import FileHeader, Tensors

Algorithm = Literal["cfr", "cfr+", "pcfr+"]
ALGORITHMS: Final[tuple[Algorithm, ...]] = ("cfr", "cfr+", "pcfr+")
"""By their numbers in `kernels.sequence_form`."""

Identity = tuple[str, int, dict[str, Any]]
Row = tuple[int, float, float]
"""After how many iterations the average policy has which value for player 0 and exploitability."""

_STEP_SECONDS: Final = 0.2
_SAVE_SECONDS: Final = 10.0
_MAX_ROWS: Final = 1000


def identity_of(game: Game) -> Identity:
    """Return name, version and parameters of a game."""
    return game.info.name, game.info.version, game.parameters.model_dump(mode="json")


class SolutionHeader(FileHeader):
    """The header of a file with an approximate equilibrium, which a run can continue.

    Attributes:
      game: name, version and parameters of the game.
      algorithm, iterations: what made it.
      tree: digest of the game's tree.
      rows: how it converged, at 1, 2, 5, 10, 20, 50, ... iterations.
    """

    KEY: ClassVar[str] = "miai.equilibrium"
    KIND: ClassVar[str] = "an equilibrium"
    REMEDY: ClassVar[str] = "name a file that `miai solve` wrote"

    game: Identity
    algorithm: Algorithm
    iterations: int = Field(ge=0)
    tree: str = Field(max_length=64)
    rows: tuple[Row, ...] = Field(default=(), max_length=_MAX_ROWS)

    @classmethod
    def read_solution(cls, path: Path, game: Game) -> tuple[Self, Tensors]:
        """Return the header and the tensors of a file for a game.

        The tensors are the ``keys``, ``starts`` and ``actions`` of a `Tree`, and the ``tables`` of
        `EquilibriumSolver`.

        Raises:
          WeightsError: the file cannot be read, is for another game, or its tensors do not fit.
        """
        header, tensors = cls.read_all(path)
        if header.game != (wanted := identity_of(game)):
            made, here = ("{} (version {}, {})".format(*game) for game in (header.game, wanted))
            raise WeightsError(f"{path}: is for {made}, not for {here}; solve this game")
        sets, slots = np.size(tensors.get("keys", 0)) // 2, np.size(tensors.get("actions", 0))
        shapes = {"keys": (sets, 2), "starts": (sets + 1,), "actions": (slots,)}
        shapes["tables"] = (3, slots)
        if shapes == {name: t.shape for name, t in tensors.items() if t.dtype == np.int64}:
            starts, tables = tensors["starts"], tensors["tables"].view(np.float64)
            ends = (starts[0], starts[-1]) == (0, slots) and (np.diff(starts) > 0).all()
            if ends and np.isfinite(tables).all() and (tables[1:] >= 0).all():
                return header, {**tensors, "tables": tables}
        raise WeightsError(f"{path}: its tensors do not fit together; solve the game again")


def averaged(sums: NDArray[np.float64], starts: NDArray[np.int64]) -> Policy:
    """Return summed policies as one; uniform where the player never came."""
    counts = np.diff(starts)
    totals = np.repeat(np.add.reduceat(sums, starts[:-1]), counts)
    policy = np.repeat(1.0 / counts, counts)
    np.divide(sums, totals, out=policy, where=totals > 0)
    return policy


class EquilibriumSolver:
    """Regret minimisation on a tree: CFR, CFR+ or PCFR+, with alternating updates.

    Raises `UnsuitableGameError` for a tree that is walked.

    Attributes:
      tree: the tree.
      algorithm: its name.
      rows: how it converged so far.
    """

    def __init__(self, tree: Tree, algorithm: Algorithm) -> None:
        if tree.is_walked:
            raise UnsuitableGameError(
                f"{tree.game.info.title}: its {tree.histories:,} histories would be walked in each "
                "iteration; solve a smaller game"
            )
        self.tree, self.algorithm = tree, algorithm
        self.rows: list[Row] = []
        self._done = np.zeros(1, np.int64)
        self._work = np.zeros((3, tree.slots + 2))
        # Regrets, summed policies and the current policy.
        self._tables = np.stack([np.zeros(tree.slots), np.zeros(tree.slots), tree.uniform()])

    @property
    def iterations(self) -> int:
        """The number of iterations so far."""
        return int(self._done[0])

    def advance(self, count: int) -> None:
        """Run some iterations."""
        number, form = np.int64(ALGORITHMS.index(self.algorithm)), self.tree.form[:]
        iterate(form, self._tables, number, self._done, np.int64(count), self._work)

    def average(self) -> Policy:
        """Return the average policy, which converges to an equilibrium."""
        return averaged(self._tables[1], self.tree.form.starts)

    def measure(self) -> None:
        """Add a row about the average policy, unless the last one is."""
        if not self.rows or self.rows[-1][0] != self.iterations:
            measured = exploitability(self.tree, self.average())
            self.rows.append((self.iterations, measured.values[0], measured.exploitability))

    def save(self, path: Path) -> None:
        """Write the file atomically. Raises `WeightsError`."""
        header = SolutionHeader(
            game=identity_of(self.tree.game),
            algorithm=self.algorithm,
            iterations=self.iterations,
            tree=self.tree.digest,
            rows=tuple(row for row in self.rows if _milestone(row[0]) == row[0]),
        )
        tree, tables = self.tree, self._tables.view(np.int64)  # weights files have no float64
        tensors = {"keys": tree.keys, "starts": tree.form.starts, "actions": tree.actions}
        header.write(path, {**tensors, "tables": tables})

    def load(self, path: Path) -> None:
        """Continue from a file.

        Raises `WeightsError` if it cannot be read, or another game or algorithm made it.
        """
        header, tensors = SolutionHeader.read_solution(path, self.tree.game)
        if (header.algorithm, header.tree) != (self.algorithm, self.tree.digest):
            made_by = f"{header.algorithm} on the tree {header.tree:.8}"
            raise WeightsError(f"{path}: was made by {made_by}; use another folder")
        self._tables, self._done[0] = tensors["tables"].copy(), header.iterations
        self.rows = list(header.rows)


def _milestone(count: int) -> int:
    """Return the first of 1, 2, 5, 10, 20, 50, ... that is not less."""
    power: int = 10 ** (len(str(max(1, count))) - 1)
    return next(m * power for m in (1, 2, 5, 10) if m * power >= count)


def run(solver: EquilibriumSolver, iterations: int, path: Path, progress: Progress) -> None:
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


class SolutionParameters(Parameters):
    """Parameters of `Solved`."""

    file: str = parameter(
        help="File that `miai solve` wrote", min_length=1, max_length=4096, opens="file"
    )


class Solved(Agent):
    """The agent `solved`, which draws from the policy in a file. Raises `WeightsError`."""

    policy_is_fixed = True

    def __init__(self, game: Game, parameters: SolutionParameters) -> None:
        super().__init__(game)
        self._path = Path(parameters.file)
        header, tensors = SolutionHeader.read_solution(self._path, game)
        self.version = f"{header.algorithm} {header.iterations}"
        self._starts, self._actions = tensors["starts"], tensors["actions"]
        self._policy = averaged(tensors["tables"][1], self._starts)
        self._numbers = {key.tobytes(): number for number, key in enumerate(tensors["keys"])}

    def policy(self) -> Mapping[int, float]:
        """Return the probabilities in the file."""
        number = self._numbers.get(
            reduce(digest_after, map(line_of, self.view.observations), START)
        )
        if number is None:
            raise WeightsError(
                f"{self._path}: has no policy for these observations of player "
                f"{self.view.player}; the game has changed, so solve it again"
            )
        slots = slice(self._starts[number], self._starts[number + 1])
        pairs = zip(self._actions[slots].tolist(), self._policy[slots].tolist(), strict=True)
        return {action: probability for action, probability in pairs if probability > 0}

    def act(self, clock: ClockReading) -> Decision:
        """Return an action drawn by the policy."""
        policy = self.policy()
        return Decision(self.rng.choices(list(policy), list(policy.values()))[0])
