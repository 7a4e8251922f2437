"""Sketches of sets: cost, savings and error rates.

- `bottom`: time of a sketch, the k smallest of n hashes, and of datasketch's MinHash.
- `probes`: time to find supersets or subsets of one set among 10,000 sketches. The query
  changes from call to call. `unlike` sets share nothing; `half` are three fifths of a universe of
  4,000, queried with three tenths of it; `alike` sets and queries are nine tenths of it; `all true`
  sets are equal.
- `prefilter`: time to find the supersets of n hashes, by exact tests of hash-sorted sets and with
  sketches first. False supersets lack a share of the hashes. No true one may be lost.
- `ensemble`: the same task with datasketch's LSH Ensemble, which indexes all sets beforehand.
- `errors`: how often the rules of `approx-dominance` and `approx-minhash` accept a set that lacks a
  share of the union, how often the latter rejects a true superset, and what theory predicts.

Times are processor time of one core: the minimum over repetitions, since other processes only add
to it, and the median over calls. Needs datasketch and scipy; matplotlib for --chart.

    python benchmarks/sketches.py [--json] [--sizes 1000 100000 ...] [--repeats N] [--chart FILE]
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
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from common.conditions import conditions
from miai.beliefs.kernels.hashes import bottom, contains, find_subsets, find_supersets, resemblances

Hashes = NDArray[np.uint64]
Row = dict[str, Any]

SIZES = (1_000, 10_000, 100_000, 1_000_000)
MISSING = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
KEPT = (4, 8, 16, 32, 64, 128, 256)
WAYS = (("supersets", find_supersets), ("subsets", find_subsets))
SHELF = 10_000_000
"""Total hashes of the sets in a collection of 20 to 1000 sets."""


def seconds(calls: Sequence[Callable[[], object]], repeats: int) -> float:
    """Return the median over calls of each call's minimum time, after a warm-up call."""
    calls[0]()
    least = [math.inf] * len(calls)
    for _ in range(repeats):
        for at, call in enumerate(calls):
            began = time.thread_time()
            call()
            least[at] = min(least[at], time.thread_time() - began)
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
    for at, hashes in enumerate(many):
        sizes[at] = bottom(hashes, rows[at])
    return rows, sizes


def measure_probes(rng: np.random.Generator, count: int, k: int, repeats: int) -> list[Row]:
    """Return the times of probes of `count` sketches."""
    universe, found = draw(rng, 4_000), np.empty(count, np.int64)

    def some(share: float) -> Hashes:
        return universe[rng.random(len(universe)) < share]

    cases: dict[str, tuple[list[Hashes], list[Hashes]]] = {
        "unlike": ([draw(rng, 1_000) for _ in range(count)], [draw(rng, 1_000) for _ in range(99)]),
        "half": ([some(0.6) for _ in range(count)], [some(0.3) for _ in range(99)]),
        "alike": ([some(0.9) for _ in range(count)], [some(0.9) for _ in range(99)]),
        "all true": ([universe] * count, [universe] * 99),
    }
    rows = []
    for name, (many, queries) in cases.items():
        kept, sizes = shelf(many, k)
        asked = [sketched(query, k) for query in queries]
        for way, find in WAYS:
            taken = seconds([partial(find, *q, kept, sizes, found) for q in asked], repeats)
            rows.append(
                {
                    "of": f"sketches, {name}",
                    "find": way,
                    "count": count,
                    "k": k,
                    "microseconds": round(taken * 1e6, 1),
                }
            )
    return rows


# -- what they spare --------------------------------------------------------------------------


@numba.njit(nogil=True)
def find_exactly(query: Hashes, flat: Hashes, starts: Any, which: Any, found: Any) -> int:
    """Write which of some sets contain another; return their number."""
    count = 0
    for at in which:
        if contains(flat[starts[at] : starts[at + 1]], query):
            found[count] = at
            count += 1
    return count


def measure_prefilter(
    rng: np.random.Generator, size: int, missing: float, true: float, *, k: int, repeats: int
) -> Row:
    """Return the times with and without a prefilter, and what it let through.

    Args:
      missing: the share of the query's elements that each false superset lacks.
      true: the share of the shelf that is true supersets.
    """
    count = min(1000, max(20, SHELF // size))
    query, more, lacking = draw(rng, size), size // 5, max(1, round(missing * size))
    truly = np.zeros(count, np.bool_)
    truly[rng.permutation(count)[: round(true * count)]] = True
    many = []
    for at in range(count):
        kept = query if truly[at] else np.delete(query, rng.choice(size, lacking, replace=False))
        many.append(np.unique(np.concatenate([kept, draw(rng, more)])))
    query = np.unique(query)
    flat, starts = np.concatenate(many), np.cumsum([0, *(len(other) for other in many)])
    kept_sketches, sizes = shelf(many, k)
    sketch, length = query[:k].copy(), min(k, len(query))  # the first of what is sorted by hash
    everything, found, sifted = np.arange(count), np.empty(count, int), np.empty(count, int)

    def sift() -> NDArray[np.int64]:
        left = find_supersets(sketch, length, kept_sketches, sizes, sifted)
        return sifted[:left]

    left = sift().copy()
    exactly = set(found[: find_exactly(query, flat, starts, everything, found)].tolist())
    filtered = set(found[: find_exactly(query, flat, starts, left, found)].tolist())
    assert exactly == set(np.flatnonzero(truly).tolist())
    assert filtered == exactly, "a prefilter must lose nothing"
    without = seconds([lambda: find_exactly(query, flat, starts, everything, found)], repeats)
    with_it = seconds([lambda: find_exactly(query, flat, starts, sift(), found)], repeats)
    false = count - len(exactly)
    return {
        "n": size,
        "missing": missing,
        "true_share": true,
        "sets": count,
        "k": k,
        "exact_microseconds": round(without * 1e6, 1),
        "prefilter_microseconds": round(with_it * 1e6, 1),
        "speedup": round(without / with_it, 2),
        "recall": len(filtered) / len(exactly) if exactly else 1.0,
        "false_accepts": round((len(left) - len(exactly)) / false, 4),
        "theory": round((1 - lacking / (size + more)) ** k, 4),
    }


def measure_ensemble(
    rng: np.random.Generator, count: int, thresholds: Sequence[float], *, k: int, repeats: int
) -> list[Row]:
    """Return times, recall and precision of sketches with exact tests, and of the LSH Ensemble.

    A row for each threshold, the least share of the query in a set that the Ensemble is to find.
    """
    import datasketch

    universe = draw(rng, 3_000)
    many = [np.unique(universe[rng.random(3_000) < rng.uniform(0.3, 1)]) for _ in range(count)]
    queries = [np.unique(rng.choice(other, len(other) // 2, replace=False)) for other in many[:50]]
    truth = [{at for at, other in enumerate(many) if contains(other, q)} for q in queries]
    rows: list[Row] = []

    def note(arm: str, indexing: float, answer: Callable[[int], set[int]]) -> None:
        answers = [answer(number) for number in range(len(queries))]
        hits = sum(len(found & true) for found, true in zip(answers, truth, strict=True))
        taken = seconds([partial(answer, number) for number in range(len(queries))], repeats)
        rows.append(
            {
                "arm": arm,
                "sets": count,
                "k": k,
                "index_milliseconds": round(indexing * 1e3, 1),
                "query_microseconds": round(taken * 1e6, 1),
                "recall": round(hits / sum(map(len, truth)), 4),
                "precision": round(hits / max(1, sum(map(len, answers))), 4),
            }
        )

    began = time.thread_time()
    kept, sizes = shelf(many, k)
    indexing = time.thread_time() - began
    flat, starts = np.concatenate(many), np.cumsum([0, *map(len, many)])
    found, sifted = np.empty(count, np.int64), np.empty(count, np.int64)

    def ours(number: int) -> set[int]:
        query = queries[number]
        sketch = query[:k]
        left = find_supersets(sketch, len(sketch), kept, sizes, sifted)
        return set(found[: find_exactly(query, flat, starts, sifted[:left], found)].tolist())

    note("dominance, exact", indexing, ours)
    assert rows[0]["recall"] == rows[0]["precision"] == 1

    def signature(hashes: Hashes) -> Any:
        made = datasketch.MinHash(num_perm=k, hashfunc=int)
        made.update_batch((hashes >> np.uint64(32)).tolist())
        return made

    began = time.thread_time()
    entries = [(at, signature(hashes), len(hashes)) for at, hashes in enumerate(many)]
    hashing = time.thread_time() - began
    asked = [(signature(query), len(query)) for query in queries]
    for threshold in thresholds:
        began = time.thread_time()
        ensemble = datasketch.MinHashLSHEnsemble(threshold=threshold, num_perm=k, num_part=16)
        ensemble.index(entries)
        indexing = hashing + time.thread_time() - began

        def theirs(number: int, ensemble: Any = ensemble) -> set[int]:
            return set(ensemble.query(*asked[number]))

        note(f"LSH Ensemble, {threshold:g}", indexing, theirs)
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
    most = max(KEPT)
    passed, alike, missed = (np.zeros(len(KEPT), np.int64) for _ in range(3))
    one, many = np.empty(1, np.int64), np.zeros((2, most), np.uint64)
    share = np.empty(1)
    for _ in range(trials):
        all_of_it = draw(rng, union)
        inner = all_of_it[:size]
        sketch, _ = sketched(inner, most)
        for row, outer in enumerate((all_of_it[lacking:], all_of_it)):
            bottom(outer, many[row])
        for at, k in enumerate(KEPT):
            for row in (0, 1):
                other, total = many[row : row + 1, :k], union - lacking * (1 - row)
                resemblances(sketch[:k], k, other, np.array([k]), share)
                common = share[0] * (size + total) / (1 + share[0])
                accepted = common >= threshold * size
                alike[at] += accepted and row == 0
                missed[at] += not accepted and row == 1
            kept = np.array([k])
            passed[at] += find_supersets(sketch[:k], k, many[:1, :k], kept, one)
    rows = []
    for at, k in enumerate(KEPT):
        false = (size - lacking) / union
        rows.append(
            {
                "k": k,
                "missing": round(lacking / union, 4),
                "trials": trials,
                "dominance_false": round(int(passed[at]) / trials, 4),
                "dominance_theory": round((1 - lacking / union) ** k, 4),
                "minhash_false": round(int(alike[at]) / trials, 4),
                "minhash_false_theory": round(
                    reaches(k, false, threshold, size, union - lacking), 4
                ),
                "minhash_missed": round(int(missed[at]) / trials, 4),
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


def draw_chart(rows: Sequence[Row], path: Path) -> None:
    """Write the speed-ups by a prefilter as a heat chart, one panel for each share of true sets."""
    from matplotlib import pyplot
    from matplotlib.colors import TwoSlopeNorm

    shares = sorted({row["true_share"] for row in rows})
    figure, panels = pyplot.subplots(
        1, len(shares), figsize=(5.2 * len(shares), 3.4), squeeze=False, layout="constrained"
    )
    sizes, missing = (sorted({row[key] for row in rows}) for key in ("n", "missing"))
    for panel, share in zip(panels[0], shares, strict=True):
        by_cell = {(r["n"], r["missing"]): r["speedup"] for r in rows if r["true_share"] == share}
        cells = np.array([[by_cell.get((n, f), np.nan) for f in missing] for n in sizes])
        norm = TwoSlopeNorm(0, -2, 2)
        image = panel.imshow(np.log2(cells), cmap="RdBu", norm=norm, aspect="auto", origin="lower")
        for (y, x), value in np.ndenumerate(cells):
            text = "" if np.isnan(value) else f"{value:.2g}"
            color = "white" if abs(np.log2(value)) > 1.2 else "black"
            panel.text(x, y, text, ha="center", va="center", color=color)
        panel.set_xticks(range(len(missing)), [f"{100 * f:g} %" for f in missing])
        panel.set_yticks(range(len(sizes)), [f"{n:,}" for n in sizes])
        panel.set_xlabel("elements that a false superset lacks")
        panel.set_ylabel("elements of the set")
        panel.set_title(f"{100 * share:g} % of the shelf are true supersets", fontsize=10)
    bar = figure.colorbar(image, ax=panels[0].tolist(), ticks=[-2, -1, 0, 1, 2])
    bar.ax.set_yticklabels(["1/4", "1/2", "1", "2", "4"])
    bar.set_label(f"times as fast with sketches of {rows[0]['k']} first")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return all figures."""
    rng = np.random.default_rng(arguments.seed)
    load = os.getloadavg()[0]
    bottom_sizes = [size for size in (10_000, 100_000, 1_000_000) if size <= max(arguments.sizes)]
    return {
        "bottom": [
            measure_bottom(rng, size, k, arguments.repeats)
            for size in bottom_sizes or arguments.sizes
            for k in (16, 64, 128)
        ],
        "probes": measure_probes(rng, arguments.count, arguments.k, arguments.repeats),
        "prefilter": [
            measure_prefilter(rng, size, missing, true, k=arguments.k, repeats=arguments.repeats)
            for true in (0.0, 0.1)
            for size in arguments.sizes
            for missing in MISSING
            if missing * size >= 1
        ],
        "ensemble": measure_ensemble(
            rng,
            arguments.count // 10,
            arguments.thresholds,
            k=arguments.k,
            repeats=arguments.repeats,
        ),
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
    parser.add_argument(
        "--thresholds",
        type=float,
        nargs="*",
        default=[0.5, 0.8, 0.95],
        help="LSH Ensemble thresholds",
    )
    parser.add_argument("-k", type=int, default=128, help="Hashes per sketch")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the random sets")
    parser.add_argument("--chart", type=Path, help="File for the chart, .svg or .png")
    arguments = parser.parse_args()
    figures = measure(arguments)
    if arguments.chart:
        draw_chart(figures["prefilter"], arguments.chart)
    if arguments.json:
        print(json.dumps(figures))
        return
    for part in ("bottom", "probes", "prefilter", "ensemble", "errors"):
        print(f"\n{part}")
        for row in figures[part]:
            print("  " + ", ".join(f"{key} {value}" for key, value in row.items()))
    print(f"on {figures['machine']}, Python {figures['python']}, {figures['date']}")


if __name__ == "__main__":
    main()
