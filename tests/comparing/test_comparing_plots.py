"""Plots: whole SVG documents, the same each time, that follow the reader's choice of colours."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tests.comparing.comparisons import ARMS, KRK4, compare, config_text

from miai_tournaments.compare.plots import reached, shown
from miai_tournaments.compare.summary import Interval, Row

NAMES = {"ablation", "anytime", "error-by-k", "pareto"}
APPROXIMATE = {
    f"rough-{k}": f'bounds = "minhash"\nbounds_parameters = {{ k = {k}, verified = false }}'
    for k in (1, 4)
}
CELLS = KRK4.replace("[2]", "[1, 2]").replace("= 4\n", "= 8\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a comparison that gives every plot something to show."""
    path = tmp_path_factory.mktemp("plots")
    (path / "x.toml").write_text(config_text({**ARMS, **APPROXIMATE}, CELLS))
    compare(path / "x.toml", "--out", path / "out", plots=True)
    return path


@pytest.mark.slow
def test_each_plot_is_a_picture_of_its_own(folder: Path) -> None:
    plots = folder / "out" / "plots"
    assert {path.name for path in plots.iterdir()} == {f"{name}.svg" for name in NAMES}
    arms = {*ARMS, *APPROXIMATE}
    for name in NAMES:
        text = (plots / f"{name}.svg").read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "prefers-color-scheme: dark" in text
        assert "href=" not in text
        words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
        if name != "error-by-k":  # its lines are of several arms each
            assert len(arms.intersection(words)) >= len(arms) - 1, name


@pytest.mark.slow
def test_they_are_the_same_bytes_each_time(folder: Path) -> None:
    plots = folder / "out" / "plots"
    before = {path.name: path.read_bytes() for path in plots.iterdir()}
    for path in plots.iterdir():
        path.unlink()
    done = compare(folder / "x.toml", "--out", folder / "out", plots=True)
    assert "error-by-k.svg" in done.stderr
    assert {path.name: path.read_bytes() for path in plots.iterdir()} == before


@pytest.mark.slow
def test_of_too_many_cells_the_deepest_are_shown_and_a_note_says_so() -> None:
    cells = {(game, depth, "hard", False): (game, depth) for game in "ab" for depth in (1, 3, 2)}
    assert shown(cells, limit=6) == (list(cells.values()), "")
    found, note = shown(cells, limit=5)
    assert found == [("a", 3), ("b", 3)]
    assert "2 of 6 cells" in note


@pytest.mark.slow
def test_a_depth_is_reached_after_the_times_of_all_depths_up_to_it(folder: Path) -> None:
    rows = json.loads((folder / "out" / "comparison.json").read_text())["rows"]
    arms = {row["arm"] for row in rows}
    assert arms
    for arm in arms:
        own = [row for row in rows if row["arm"] == arm]
        assert [row["depth"] for row in own] == [1, 2]
        for row in own:
            assert row["mean_seconds"]["value"] == pytest.approx(row["seconds"] / row["roots"])
            assert row["mean_seconds"]["low"] <= row["mean_seconds"]["value"]
    first, second = (row_of(depth, seconds) for depth, seconds in ((1, 2.0), (3, 5.0)))
    assert reached([second, first]) == [(1, Interval(2.0, 1.0, 4.0)), (3, Interval(7.0, 3.5, 14.0))]
    assert reached([first, row_of(2, 1.0, incomplete=1), second]) == [(1, Interval(2.0, 1.0, 4.0))]


def row_of(depth: int, seconds: float, *, incomplete: int = 0) -> Row:
    """Return a row with a mean time, and half and twice of it as the ends of its interval."""
    counts = dict.fromkeys(
        ("nodes", "leaves", "entries", "bytes", "compared", "judged", "wrong_values"), 0
    )
    return Row(
        game="g",
        depth=depth,
        kind="k",
        warm=False,
        arm="a",
        k=None,
        roots=5,
        incomplete=incomplete,
        seconds=5 * seconds,
        setup=0.0,
        speedup_nodes=None,
        speedup_seconds=None,
        wrong_moves=0,
        too_high=0,
        **counts,
        too_low=0,
        mean_seconds=Interval(seconds, seconds / 2, 2 * seconds),
    )


@pytest.mark.slow
def test_a_plot_without_anything_to_show_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(config_text())
    compare(tmp_path / "x.toml", "--out", tmp_path / "out", plots=True)
    drawn = {path.stem for path in (tmp_path / "out" / "plots").iterdir()}
    assert drawn == {"pareto", "ablation"}
