"""Compiles the kernels that tests call, in parallel, where the cache has none: ``make test``.

Otherwise the first test to call a kernel compiles it, for up to half a minute, while the other
workers wait for the same. `miai warm` compiles what plugins declare; here is the rest. Modules of
tests are compiled with it: each worker would do so by itself.
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
GO: Final = """
from miai_go.learning.training.rollout_policy import train
from miai_go.nets.patterns import PatternPolicy

train(PatternPolicy.untrained(5), [[12]], size=5)
"""
BELIEFS: Final = """
from miai.beliefs.compiled_search import RULES, CompiledSearch
from miai_miniblind.mini_rbc import MiniRbcProblem
from miai_miniblind.roots import random_roots

problem = MiniRbcProblem(4, 2)
CompiledSearch(problem, RULES["exact"]).search(random_roots(problem, 1, seed=1)[0], 1)
"""
EQUILIBRIA: Final = """
from miai.equilibria.solver import Solver
from miai.equilibria.tree import extract

solver = Solver(extract(miai.load_game("kuhn_poker")), "pcfr+")
solver.advance(1)
solver.measure()
agent("kuhn_poker", "equilibrium")
"""
REST: Final = (GO, BELIEFS, EQUILIBRIA)


def _run(words: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)


def main() -> None:
    """Compile all, unless that was done since the last edit of a kernel."""
    kernels = [ROOT / path for path in sources() if "kernels" in path.parts]
    done = ROOT / ".pytest_cache" / f"kernels-{digest_of(kernels)}"
    if done.exists():
        return
    subprocess.run([sys.executable, "-m", "miai", "warm"], check=True)
    with ThreadPoolExecutor(available_processors()) as pool:
        jobs = [("-c", AGENT + text) for text in REST]
        list(pool.map(_run, [*jobs, ("-m", "pytest", "--collect-only", "-qqq")]))
    done.parent.mkdir(exist_ok=True)
    done.touch()


if __name__ == "__main__":
    main()
