"""Mistakes in a comparison's config: all of them told at once, with their place and the remedy."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.comparing.comparisons import ARMS, CONFIGS, KRK4, compare, config_text, measured, refused
from tests.docs.page_parts import page
from tests.whole_texts import assert_transcript, refusal

from miai.errors import ConfigError
from miai_tournaments.compare import schema
from miai_tournaments.compare.config import Comparison, load_comparison
from miai_tournaments.config.schema import ConfigSection


def load(tmp_path: Path, text: str) -> Comparison:
    path = tmp_path / "x.toml"
    path.write_text(text)
    return load_comparison(path)


def test_mistakes_are_reported_with_their_place(tmp_path: Path) -> None:
    """Each line changes a config, from the left to the right of an arrow; CELLS are its cells."""

    def answer(line: str) -> str:
        text = config_text({**ARMS, "odd": "ODD"}, "CELLS")
        for change in line.split(" & "):
            old, new = change.split(" -> ")
            text = text if old == "CELLS" else text.replace("CELLS", KRK4)
            assert old in text
            text = text.replace(old, new.replace("; ", "\n"), 1)
        text = text.replace("CELLS", KRK4).replace("ODD", "")
        return refusal(lambda: load(tmp_path, text), folder=tmp_path)

    assert_transcript("comparison/mistakes.txt", answer)


def test_too_few_roots_are_reported_when_drawn(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    cells = KRK4.replace('"hard"', '"won"').replace("[2]", "[1]")
    cells = cells.replace('"mini_rbc"', '"sub_hunt"').replace("w = 2", "pings = 0, blast = 1")
    path.write_text(config_text(cells=cells.replace("n = 4", "n = 5")))
    error = refused(path, "--out", tmp_path / "out")
    assert "krk4, depth 1, won roots of seed 1: none of 1000 draws is won" in error
    assert measured(tmp_path / "out") == {}


def test_a_misspelt_file_name_gets_near_matches(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("")
    with pytest.raises(ConfigError, match=r"does not exist\. Did you mean .*study\.toml"):
        load_comparison(tmp_path / "stduy.toml")
    with pytest.raises(ConfigError, match="is a folder; name a config file"):
        load_comparison(tmp_path)


def test_blocks_are_each_depth_with_each_class_and_the_judge_comes_first(tmp_path: Path) -> None:
    cells = KRK4.replace("[2]", "[1, 2]").replace('["hard"]', '["hard", "won"]')
    found = load(tmp_path, config_text(cells=cells, more='truth = "cores"\nseeds = [4, 5]'))
    titles = [block.title for block in found.blocks]
    assert titles == [f"krk4, depth {d}, {kind} roots" for d in (1, 2) for kind in ("hard", "won")]
    assert {block.arms for block in found.blocks} == {("cores", "table", "exact")}
    assert {block.count for block in found.blocks} == {2 * 4 * 3}
    keys = [key for block in found.blocks for key in block.searches()]
    assert len(set(keys)) == len(keys) == 4 * 24


def test_a_cell_without_a_name_is_named_after_its_problem(tmp_path: Path) -> None:
    cells = KRK4.replace('name = "krk4"\n', "").replace("w = 2", "w = 2, decoy = true")
    (block,) = load(tmp_path, config_text(cells=cells)).blocks
    assert block.game == "mini_rbc-n4-w2-decoy"


def test_parameters_are_resolved_with_those_of_the_bounds(tmp_path: Path) -> None:
    arm = load(tmp_path, config_text({**ARMS, "odd": 'bounds = "minhash"'})).arms["odd"]
    assert arm.given == {"bounds": "minhash"}
    assert arm.k == arm.parameters["bounds_parameters"]["k"] == 64
    assert load(tmp_path, config_text()).arms["table"].k is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compare-quick", "compare-full"])
def test_the_configs_that_users_start_from_are_valid(name: str) -> None:
    found = load_comparison(CONFIGS / f"{name}.toml")
    assert found.name == name
    bounds = {arm.parameters.get("bounds") for arm in found.arms.values()}
    assert {"none", "table", "singles", "exact", "cores", "minhash"} <= bounds
    if name == "compare-full":
        assert all(block.roots >= 30 for block in found.blocks)


def test_the_config_of_retention_policies_has_all_of_them() -> None:
    found = load_comparison(CONFIGS / "compare-retention.toml")
    assert found.name == "compare-retention"
    given = [arm.parameters["bounds_parameters"] for arm in found.arms.values()]
    kept = {limited["retention"] for limited in given if limited.get("limit")}
    assert kept == {"none", "lru", "space-saving", "count-sketch"}
    assert all(block.roots >= 30 for block in found.blocks)


# -- the page -------------------------------------------------------------------------------------


PAGE = page("comparing")
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)[::-1])  # the first of a language


def test_its_config_is_valid_and_names_every_key(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(BLOCKS["toml"])
    found = load_comparison(path)
    assert list(found.arms) == ["table", "exact", "sketch-16"]
    models: dict[str, type[ConfigSection]] = {
        "comparison": schema.ComparisonSection,
        "arms": schema.ArmSection,
        "cells": schema.CellSection,
    }
    for name, model in models.items():
        text = re.findall(rf"(?ms)^\[+{name}\]+\n(.*?)(?=^\[|\Z)", BLOCKS["toml"])
        keys = set(re.findall(r"^(\w+) =", "".join(text), re.MULTILINE))
        known = set(model.model_fields)
        assert known - {"parameters"} <= keys
        assert keys - known <= ({"bounds", "bounds_parameters"} if name == "arms" else set())
    section = schema.ComparisonSection(name="x", baseline="y")
    assert (section.seeds, section.repeats, section.judge) == ((1,), 1, "y")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_its_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (CONFIGS / "compare-quick.toml").read_text()
    (tmp_path / "configs").mkdir()
    few = re.sub(r"^roots = \d+", "roots = 2", text, flags=re.MULTILINE)
    (tmp_path / "configs" / "compare-quick.toml").write_text(few)
    (tmp_path / "study.toml").write_text(BLOCKS["toml"].replace("roots = 30", "roots = 2"))
    monkeypatch.chdir(tmp_path)
    lines = [line.partition("#")[0] for line in BLOCKS["sh"].splitlines()]
    done: list[subprocess.CompletedProcess[str]] = []
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["miai", "compare"]
        done.append(compare(*words[2:], plots=not done))
    assert "kept in" not in done[1].stderr  # nothing is searched again
    rows = json.loads(done[1].stdout)["rows"]
    listed = re.search(r"The entries of `rows` have (.*?)\. An interval", PAGE)
    assert listed
    assert set(re.findall(r"`(\w+)`", listed[1])) == set(rows[0]) | {"roots"}
    table = PAGE.split("## Files of a comparison\n")[1]
    entries = "".join(re.findall(r"^(\|.*?\|)", table, re.MULTILINE))
    output = {name.rstrip("/") for name in re.findall(r"`([\w.]+/?)`", entries)}
    folder = {path.name for path in (tmp_path / "runs" / "compare-quick").iterdir()}
    assert folder - {"lock", "comparison.sqlite-wal", "comparison.sqlite-shm"} <= output
    assert {"rows.csv", "searches.csv", "plots", "comparison.json"} <= folder
    plots = {path.stem for path in (tmp_path / "runs" / "compare-quick" / "plots").iterdir()}
    described = PAGE.split("## Read the plots\n")[1]
    # None of its arms differ in k alone.
    assert plots == set(re.findall(r"^\| `([\w-]+)` \|", described, re.M)) - {"error-by-k"}
