"""MinHash by bottom-k sketches: cost and error rates.

- `bottom`: time of a sketch, the k smallest of n hashes, and of datasketch's MinHash.
- `probes`: time to estimate the resemblance of one set with each of 10,000. The query changes from
  call to call. `unlike` sets share nothing; `half` are three fifths of a universe of 4,000, queried
  with three tenths of it; `alike` ones are nine tenths of it; `all true` sets are equal.
- `errors`: how often the rule of `minhash` accepts a set that lacks a share of the union, how often
  it rejects a true superset, and what theory predicts.

Times are processor time of one core: the minimum over repetitions, since other processes only add
to it, and the median over calls. Needs datasketch.

    python benchmarks/sketches.py [--json] [--sizes 10000 100000 ...] [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.conditions import conditions
from miai.beliefs.kernels.sketching import bottom, resemblances

Hashes = NDArray[np.uint64]
Row = dict[str, Any]

SIZES = (10_000, 100_000, 1_000_000)
KEPT = (4, 8, 16, 32, 64, 128, 256)


def seconds(calls: Sequence[Callable[[], object]], repeats: int) -> float:
    """Return the median over calls of each call's minimum time, after a warm-up call."""
    calls[0]()
    least = [math.inf] * len(calls)
    for _ in range(repeats):
        for number, call in enumerate(calls):
            began = time.thread_time()
            call()
            least[number] = min(least[number], time.thread_time() - began)
    return statistics.median(least)


def draw(rng: np.random.Generator, count: int) -> Hashes:
    """Return hashes."""
    return rng.integers(0, 2**64 - 1, count, np.uint64, endpoint=True)


def sketched(hashes: Hashes, k: int) -> tuple[Hashes, int]:
    """Return a sketch and its length."""
    sketch = np.zeros(k, np.uint64)
    return sketch, int(bottom(hashes, sketch))


# -- what they cost ---------------------------------------------------------------------------


def measure_bottom(rng: np.random.Generator, size: int, k: int, repeats: int) -> Row:
    """Return the times of a sketch and of datasketch's, updated in chunks of 10,000 hashes."""
    import datasketch

    hashes, out = draw(rng, size), np.zeros(k, np.uint64)
    ours = seconds([lambda: bottom(hashes, out)], 5 * repeats)
    parts = [part.tolist() for part in np.array_split(hashes >> np.uint64(32), -(-size // 10_000))]

    def theirs() -> None:
        signature = datasketch.MinHash(num_perm=k, hashfunc=int)
        for part in parts:
            signature.update_batch(part)

    peer = seconds([theirs], repeats if size < 1_000_000 else 1)
    return {
        "n": size,
        "k": k,
        "microseconds": round(ours * 1e6, 1),
        "datasketch_microseconds": round(peer * 1e6, 1),
        "ratio": round(peer / ours, 1),
    }


def shelf(many: Sequence[Hashes], k: int) -> tuple[Hashes, NDArray[np.int64]]:
    """Return the sketches of sets and their lengths."""
    rows, sizes = np.zeros((len(many), k), np.uint64), np.zeros(len(many), np.int64)
    for row, hashes in enumerate(many):
        sizes[row] = bottom(hashes, rows[row])
    return rows, sizes


def measure_probes(rng: np.random.Generator, count: int, k: int, repeats: int) -> list[Row]:
    """Return the times of probes of `count` sketches."""
    universe, shares = draw(rng, 4_000), np.empty(count)

    def part(share: float) -> Hashes:
        return universe[rng.random(len(universe)) < share]

    cases: dict[str, tuple[list[Hashes], list[Hashes]]] = {
        "unlike": ([draw(rng, 1_000) for _ in range(count)], [draw(rng, 1_000) for _ in range(99)]),
        "half": ([part(0.6) for _ in range(count)], [part(0.3) for _ in range(99)]),
        "alike": ([part(0.9) for _ in range(count)], [part(0.9) for _ in range(99)]),
        "all true": ([universe] * count, [universe] * 99),
    }
    rows = []
    for name, (many, queries) in cases.items():
        kept, sizes = shelf(many, k)
        asked = [sketched(query, k) for query in queries]
        taken = seconds([partial(resemblances, *q, kept, sizes, shares) for q in asked], repeats)
        rows.append(
            {"of": name, "count": count, "k": k, "microseconds": round(taken * 1e6, 1)},
        )
    return rows


# -- how often they err -----------------------------------------------------------------------


def measure_errors(
    rng: np.random.Generator, missing: float, trials: int, *, size: int, threshold: float
) -> list[Row]:
    """Return the shares of errors for each k, on fresh random sets; |X| / |Y| is 0.8 or so.

    Of X and Y a share `missing` of the union is in X alone; then, for misses, X is a part of Y.
    """
    union = round(size / (0.8 + missing))
    lacking = max(1, round(missing * union))
    longest = max(KEPT)
    alike, missed = np.zeros(len(KEPT), np.int64), np.zeros(len(KEPT), np.int64)
    many = np.zeros((2, longest), np.uint64)
    share = np.empty(1)
    for _ in range(trials):
        all_of_it = draw(rng, union)
        inner = all_of_it[:size]
        sketch, _ = sketched(inner, longest)
        for row, outer in enumerate((all_of_it[lacking:], all_of_it)):
            bottom(outer, many[row])
        for column, k in enumerate(KEPT):
            for row in (0, 1):
                other, total = many[row : row + 1, :k], union - lacking * (1 - row)
                resemblances(sketch[:k], k, other, np.array([k]), share)
                common = share[0] * (size + total) / (1 + share[0])
                accepted = common >= threshold * size
                alike[column] += accepted and row == 0
                missed[column] += not accepted and row == 1
    rows = []
    for column, k in enumerate(KEPT):
        false = (size - lacking) / union
        rows.append(
            {
                "k": k,
                "missing": round(lacking / union, 4),
                "trials": trials,
                "minhash_false": round(int(alike[column]) / trials, 4),
                "minhash_false_theory": round(
                    reaches(k, false, threshold, size, union - lacking), 4
                ),
                "minhash_missed": round(int(missed[column]) / trials, 4),
                "minhash_missed_theory": round(
                    1 - reaches(k, size / union, threshold, size, union), 4
                ),
            }
        )
    return rows


def reaches(k: int, resemblance: float, threshold: float, inner: int, outer: int) -> float:
    """Return how probably a binomial estimate of a resemblance reaches the rule's threshold."""
    common = threshold * inner
    least = math.ceil(k * common / (inner + outer - common) - 1e-9)
    p = resemblance
    return math.fsum(math.comb(k, i) * p**i * (1 - p) ** (k - i) for i in range(least, k + 1))


# -- the whole --------------------------------------------------------------------------------


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return all figures."""
    rng = np.random.default_rng(arguments.seed)
    load = os.getloadavg()[0]
    return {
        "bottom": [
            measure_bottom(rng, size, k, arguments.repeats)
            for size in arguments.sizes
            for k in (16, 64, 128)
        ],
        "probes": measure_probes(rng, arguments.count, arguments.k, arguments.repeats),
        "errors": [
            row
            for missing in (0.01, 0.05, 0.2)
            for row in measure_errors(rng, missing, arguments.trials, size=1000, threshold=0.9)
        ],
        "seed": arguments.seed,
        "load_before": round(load, 2),
        **conditions(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=list(SIZES), help="Sizes of the sets"
    )
    parser.add_argument("--repeats", type=int, default=5, help="Repetitions of each call")
    parser.add_argument("--count", type=int, default=10_000, help="Number of sketches probed")
    parser.add_argument("--trials", type=int, default=2_000, help="Trials for each error rate")
    parser.add_argument("-k", type=int, default=128, help="Hashes per sketch")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the random sets")
    arguments = parser.parse_args()
    figures = measure(arguments)
    if arguments.json:
        print(json.dumps(figures))
        return
    for part in ("bottom", "probes", "errors"):
        print(f"\n{part}")
        for row in figures[part]:
            print("  " + ", ".join(f"{key} {value}" for key, value in row.items()))
    print(f"on {figures['machine']}, Python {figures['python']}, {figures['date']}")


if __name__ == "__main__":
    main()
