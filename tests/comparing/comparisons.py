"""What the tests of comparisons share: configs, the real command, a plugin of odd searches."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.child_imports import environment_with, install
from tests.warm_command import run_miai

from miai_tournaments.compare.results import ComparisonStore, Measurement, SearchKey

CONFIGS = Path(__file__).parents[2] / "configs"

ARMS = {"table": 'bounds = "table"', "exact": 'bounds = "exact"', "cores": 'bounds = "cores"'}
KRK4 = """
[[cells]]
name = "krk4"
problem = "mini_rbc"
parameters = { n = 4, w = 2 }
depths = [2]
classes = ["hard"]
roots = 4
"""

PLUGIN = '''
"""Searches and bounds that do what none should."""

import time
from dataclasses import replace

from miai import hookimpl
from miai.beliefs.bounds import NoBounds
from miai.beliefs.protocol import ProbeResult
from miai.beliefs.recursion import BeliefSearchParameters, recursive
from miai.parameters import Parameters


class Lying(NoBounds):
    """Takes every belief for won that it is asked of."""

    def probe(self, public, depth, belief):
        return ProbeResult(lower=1.0, closure=belief)


class Odd:
    shares = False

    def __init__(self, problem, parameters):
        self.inner = recursive(problem, parameters)
        self.searches = 0

    def search(self, root, depth, **options):
        return self.inner.search(root, depth, **options)

    def guarantees(self, root, action, depth):
        return self.inner.guarantees(root, action, depth)


class Slow(Odd):
    def search(self, root, depth, **options):
        time.sleep(0.05)
        return super().search(root, depth, **options)


class Failing(Odd):
    def search(self, root, depth, **options):
        if "max_nodes" in options and options["max_nodes"] is None:
            raise RuntimeError("out of\\nluck")
        return super().search(root, depth, **options)


class Fickle(Odd):
    seen = 0

    def search(self, root, depth, **options):
        Fickle.seen += 1
        return super().search(root, 1 + Fickle.seen % 2, **options)


class Enumerating(Fickle):
    """Reports that it enumerated, so that it is asked again."""

    def search(self, root, depth, **options):
        return replace(super().search(root, depth, **options), enumeration_seconds=1e-9)


def lying(universe, parameters):
    return Lying()


@hookimpl
def miai_register(registry):
    registry.add("bounds", "lying", lying, parameters=Parameters, summary="Lies")
    searches = {"slow": Slow, "failing": Failing, "fickle": Fickle, "enumerating": Enumerating}
    for name, search in searches.items():
        registry.add(
            "belief-search", name, search, parameters=BeliefSearchParameters, summary="Odd"
        )
'''


def config_text(
    arms: Mapping[str, str] = ARMS, cells: str = KRK4, *, baseline: str = "table", more: str = ""
) -> str:
    """Return a config file; `more` are further keys of ``[comparison]``."""
    head = f'[comparison]\nname = "test"\nbaseline = "{baseline}"\n{more}\n'
    return head + "".join(f'[[arms]]\nname = "{n}"\n{t}\n' for n, t in arms.items()) + cells


def environment(folder: Path | None = None) -> dict[str, str]:
    """Return the environment of a command; with a folder, the odd plugin is installed in it."""
    sites = [] if folder is None else [folder / "site"]
    for site in sites:
        if not site.exists():
            install(site, "odd", "miai_odd", miai_odd=PLUGIN)
    return environment_with(*sites, COLUMNS="200")


def command(*words: object) -> list[str]:
    """Return the command line of ``miai compare``."""
    return [sys.executable, "-m", "miai", "compare", *map(str, words)]


def compare(
    *words: object, env: Mapping[str, str] | None = None, status: int = 0, plots: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run ``miai compare`` as a user does, and check how it exits."""
    given = ["compare", *map(str, words), *([] if plots else ["--no-plots"])]
    done = run_miai(given, env=env or environment())
    output = f"{' '.join(given)}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == status, output
    assert "Traceback" not in done.stderr, output
    return done


def refused(*words: object, env: Mapping[str, str] | None = None) -> str:
    """Run the command, check that it is refused with one message, and return the message."""
    error = compare(*words, env=env, status=2).stderr
    output = error[error.index("miai: ") :]
    assert output.count("miai: ") == 1, error
    return output


def measured(folder: Path) -> dict[SearchKey, Measurement]:
    """Return what a folder holds, as it was stored."""
    with ComparisonStore.open(folder, alone=False) as store:
        return store.searches()


def untimed(folder: Path) -> dict[SearchKey, Measurement]:
    """Return what must be the same in every run of a config: all but the times."""
    return {key: replace(m, seconds=0.0, setup=0.0) for key, m in measured(folder).items()}
