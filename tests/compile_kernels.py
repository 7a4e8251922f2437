"""Compiles the kernels that tests call, in parallel, where the cache has none: ``make test``.

Otherwise the first test to call a kernel compiles it, for up to half a minute, while the other
workers wait for the same. A process compiles once what its kernels share, so there is one for each
family of kernels. Modules of tests are compiled with them: each worker would do so by itself.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.size import ROOT, sources

from miai.kernels.cache import digest_of
from miai.process.processors import available_processors

AGENT: Final = """
import gc, miai
gc.disable()  # the compiler makes millions of objects, which stay

def agent(game, name, options={}, **parameters):
    miai.make_agent(name, miai.load_game(game, **options), **parameters).new_game(0, player=0)
"""
BLIND_CHESS: Final = """
import chess
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.search.candidates import Valuer

agent("rbc", "rbc-seed", engine={"kind": "kernel"})
agent("rbc", "rbc-strong", engine={"kind": "kernel"})
agent("rbc", "rbc-minimax")
Valuer(None).values(BoardSet.of_fens([chess.STARTING_FEN]).rows, 0)
"""
GO: Final = """
from miai_go.learning.training.rollout_policy import train
from miai_go.nets.encoder import Positions
from miai_go.nets.patterns import PatternPolicy

small = {"board_size": 9}
agent("go", "alphago", small, simulations=8, leaf_value={"kind": "mixed", "rollout": "rollout-9x9"})
agent("go", "alphago", small, simulations=8)
agent("go", "mcts", small, simulations=8)
train(PatternPolicy.untrained(5), [[12]], size=5)
PatternPolicy.untrained(5).probabilities(Positions.room(5, 1))
"""
BELIEFS: Final = """
from miai.beliefs.compiled_search import RULES, CompiledSearch
from miai_miniblind.mini_rbc import MiniRbcProblem
from miai_miniblind.roots import random_roots

problem = MiniRbcProblem(4, 2)
CompiledSearch(problem, RULES["exact"]).search(random_roots(problem, 1, seed=1)[0], 1)
"""
LIFE_AND_DEATH: Final = """
from miai_go.tsumego.networks.predictor import Predictor
from miai_go.tsumego.shipped import NETWORK
from miai_go.tsumego.solver.prover import load_prover

load_prover()
Predictor(NETWORK).load()
"""
EQUILIBRIA: Final = """
from miai.equilibria.solver import Solver
from miai.equilibria.tree import extract

solver = Solver(extract(miai.load_game("kuhn_poker")), "pcfr+")
solver.advance(1)
solver.measure()
agent("kuhn_poker", "equilibrium")
"""
FAMILIES: Final = (BLIND_CHESS, GO, BELIEFS, LIFE_AND_DEATH, EQUILIBRIA)  # the longest first


def _run(words: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)


def main() -> None:
    """Compile all, unless that was done since the last edit of a kernel."""
    kernels = [ROOT / path for path in sources() if "kernels" in path.parts]
    done = ROOT / ".pytest_cache" / f"kernels-{digest_of(kernels)}"
    if done.exists():
        return
    print("compiling kernels...", flush=True)
    with ThreadPoolExecutor(available_processors()) as pool:
        families = [("-c", AGENT + family) for family in FAMILIES]
        jobs = [*families[:2], ("-m", "pytest", "--collect-only", "-qqq"), *families[2:]]
        list(pool.map(_run, jobs))
    done.parent.mkdir(exist_ok=True)
    done.touch()


if __name__ == "__main__":
    main()
