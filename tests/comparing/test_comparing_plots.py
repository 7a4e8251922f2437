"""Plots: whole files, the same each time, and a plain word where matplotlib is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from PIL import Image
from tests.comparing.comparisons import ARMS, KRK4, compare, config_text, environment

NAMES = {"speedup-by-depth", "speedup-by-size", "error-by-k", "pareto", "ablation"}
APPROXIMATE = {
    f"rough-{k}": f'bounds = "approx-dominance"\nbounds_parameters = {{ k = {k} }}' for k in (1, 4)
}
CELLS = KRK4.replace("[2]", "[1, 2]").replace("= 4\n", "= 8\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a comparison that gives every plot something to show."""
    path = tmp_path_factory.mktemp("plots")
    (path / "x.toml").write_text(config_text({**ARMS, **APPROXIMATE}, CELLS))
    compare(path / "x.toml", "--out", path / "out", plots=True)
    return path


def test_there_is_each_plot_as_png_and_svg(folder: Path) -> None:
    plots = folder / "out" / "plots"
    assert {path.name for path in plots.iterdir()} == {
        f"{name}.{ending}" for name in NAMES for ending in ("png", "svg")
    }
    for name in NAMES:
        with Image.open(plots / f"{name}.png") as image:
            image.load()
            colours = image.convert("RGB").getcolors(1 << 24)
            assert min(image.size) > 400
        assert colours is not None
        assert len(colours) > 50  # something is drawn
        root = ElementTree.parse(plots / f"{name}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert sum(1 for _ in root.iter("{http://www.w3.org/2000/svg}path")) > 20


def test_they_are_the_same_bytes_each_time(folder: Path) -> None:
    plots = folder / "out" / "plots"
    before = {path.name: path.read_bytes() for path in plots.iterdir()}
    for path in plots.iterdir():
        path.unlink()
    done = compare(folder / "x.toml", "--out", folder / "out", plots=True)
    assert "error-by-k.svg" in done.stderr
    assert {path.name: path.read_bytes() for path in plots.iterdir()} == before


def test_a_plot_without_anything_to_show_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(config_text())
    compare(tmp_path / "x.toml", "--out", tmp_path / "out", plots=True)
    drawn = {path.stem for path in (tmp_path / "out" / "plots").iterdir()}
    assert drawn == {"speedup-by-size", "pareto", "ablation"}


def test_without_matplotlib_the_tables_are_written_and_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(config_text())
    code = (
        "import sys; sys.modules['matplotlib'] = None; from miai.cli.main import main; "
        "sys.argv = ['miai', *sys.argv[1:]]; main()"
    )
    words = ["compare", str(tmp_path / "x.toml"), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        'miai: no plots without matplotlib; install it with: pip install "miai[plots]"\n'
    )
    assert len(json.loads((tmp_path / "out" / "comparison.json").read_text())["rows"]) == 3
    assert not (tmp_path / "out" / "plots").exists()
