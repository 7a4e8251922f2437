"""Compiles the kernels that tests call, in parallel, where the cache has none: ``make test``.

Otherwise the first test to call a kernel compiles it, for up to half a minute, while the other
workers wait for the same. `miai warm` compiles each group of kernels in a process of its own; here
those of a plugin share one, and so what they have in common, which takes a quarter less. Modules of
tests are compiled with it: each worker would do so by itself.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.size import ROOT, sources

from miai.kernels.cache import digest_of
from miai.process.processors import available_processors

LOADED: Final = """
import gc, sys
import pytest
from miai.process.compilations import families_of, groups_of, load_group

gc.disable()  # the compiler makes millions of objects, which stay
groups = [group for family in families_of(sys.argv[1]) for group in groups_of(family)]
groups = [group for group in groups if group != "miai_go.kernels:patterns"]  # of slow tests
for group in reversed(groups):  # the last ones call most others
    load_group(group)
sys.exit(pytest.main(["-qqq", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""
CALLERS: Final = {
    "miai_rbc": (
        "rbc/test_opponent_model.py::test_equal_numbers_are_equal_facts",
        "belief_search/test_sketches.py::test_resemblance_agrees_with_datasketch",
        "equilibria/test_equilibria.py::test_a_run_continues_bit_for_bit",
        "framework/test_equilibrium.py::test_best_responses_are_those_of_the_sequence_form",
    ),
    "miai_go": (
        "go_learning/test_go_annotating.py::test_a_position_has_the_value_of_a_slow_tree",
        "go_learning/test_go_data_shards.py::test_scanner_and_full_reader_agree",
        "go_learning/test_go_early_stop.py::test_an_obvious_move_takes_less_than_its_time",
        "go_learning/test_go_end_to_end.py::test_from_policies_to_play",
        "go_learning/test_go_forest.py",
        "tsumego/test_tsumego_ordering.py::test_samples_hold_what_searches_say",
    ),
}
"""Tests that call further kernels, by the package whose kernels theirs share the most with."""


def _run(words: Sequence[str]) -> None:
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)


def main() -> None:
    """Compile all, unless that was done since the last edit of a kernel."""
    kernels = [ROOT / path for path in sources() if "kernels" in path.parts]
    done = ROOT / ".pytest_cache" / f"kernels-{digest_of(kernels)}"
    if done.exists():
        return
    jobs = [
        ("-c", LOADED, package, *(f"tests/{test}" for test in tests))
        for package, tests in CALLERS.items()
    ]
    with ThreadPoolExecutor(available_processors()) as pool:
        list(pool.map(_run, [*jobs, ("-m", "pytest", "--collect-only", "-qqq")]))
    done.parent.mkdir(exist_ok=True)
    done.touch()


if __name__ == "__main__":
    main()
