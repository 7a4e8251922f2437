"""Compiles the kernels that tests call, in parallel, where the cache has none: ``make test``.

Otherwise the first test to call a kernel compiles it, for up to half a minute, while the other
workers wait for the same.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.size import ROOT, sources

from miai.kernels.cache import digest_of
from miai.process.processors import available_processors

STEPS: Final = (
    # The longest first. An agent loads its kernels before its first game begins.
    'agent("rbc", "rbc-seed", engine={"kind": "kernel"})',
    'agent("go", "alphago", {"board_size": 9}, simulations=8)',
    'agent("rbc", "rbc-minimax")',
    "from miai_go.tsumego.solver.prover import load_prover as load; load()",
    'agent("go", "mcts", {"board_size": 9}, simulations=8)',
    'agent("go", "alphazero", {"board_size": 9}, simulations=8)',
)
AGENT: Final = """
import miai
def agent(game, name, options={}, **parameters):
    miai.make_agent(name, miai.load_game(game, **options), **parameters).new_game(0, player=0)
"""


def main() -> None:
    """Compile all, unless that was done since the last edit of a kernel."""
    kernels = [ROOT / path for path in sources() if "kernels" in path.parts]
    done = ROOT / ".pytest_cache" / f"kernels-{digest_of(kernels)}"
    if done.exists():
        return
    print("compiling kernels...", flush=True)
    with ThreadPoolExecutor(available_processors()) as pool:
        commands = [[sys.executable, "-c", AGENT + step] for step in STEPS]
        list(pool.map(lambda command: subprocess.run(command, check=True), commands))
    done.parent.mkdir(exist_ok=True)
    done.touch()


if __name__ == "__main__":
    main()
