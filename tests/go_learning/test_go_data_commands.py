"""``miai go data``: what it lists, imports, tells and refuses; and downloads."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shlex
import socket
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.go_learning import go_commands
from tests.go_learning.go_commands import invoke
from tests.go_learning.go_data_games import random_game, random_moves, sgf_of, write_set
from tests.warm_command import run_miai
from tests.whole_texts import assert_expected, assert_transcript, refusal
from typer.testing import Result

from miai_go.errors import DataError
from miai_go.learning.data import collections as download
from miai_go.learning.data.collections import PublicDataset
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shards import COLUMNS
from miai_go.rules.symmetry import point_tables


def run(*words: object) -> str:
    return go_commands.run("data", *words)


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    for seed in range(8):
        moves = random_moves(seed, length=20)
        (folder / f"{seed}.sgf").write_bytes(sgf_of(moves, seed=seed))
    (folder / "turned.sgf").write_bytes(sgf_of(point_tables(9)[6, random_moves(0, length=20)]))
    (folder / "bad.sgf").write_bytes(b"(;SZ[9];B[aa]\0")
    return folder


def test_games_are_imported_once_however_often_it_is_called(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    first = json.loads(run("import", games, "--out", out, "--games-a-shard", "3", "--json"))
    assert (first["games"], first["taken"], first["written"], first["bad"]) == (10, 8, 8, 1)
    assert first["dropped"] == {"duplicate": 1}
    assert first["bad_files"][0]["source"].endswith("bad.sgf")
    assert first["bad_files"][0]["cause"]
    again = json.loads(run("import", games, "--out", out, "--json"))
    assert (again["taken"], again["dropped"]) == (0, {"duplicate": 9})
    assert len(GoDataset(out)) == 8
    text = run("import", games, "--out", tmp_path / "other", "--min-moves", "30")
    text = re.sub(r"\d+ games/s", "games/s", text.replace(str(tmp_path), ""))
    assert_expected("data/import.txt", text)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["data", "stats"], "1 of 10 games are left out: 1 bad, the first "),
        pytest.param(
            ["eval", "policy-7-13"],
            "2 of 10 games are left out: 1 dropped (duplicate); 1 bad, ",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_omissions_from_sgf_are_reported_by_every_reader(
    words: list[str], expected: str, games: Path
) -> None:
    result = invoke(*words, games)
    assert result.exit_code == 0, result.output
    assert expected in result.stderr
    assert "bad.sgf: line 1: " in result.stderr
    assert "left out" not in result.stdout


def test_training_reports_omissions_and_requires_held_out_games(
    games: Path, tmp_path: Path
) -> None:
    config = tmp_path / "patterns.toml"
    text = f'[data]\nsources = ["{games}"]\nvalidation = {{}}\ntest = 0.0\n[patterns]\nepochs = 1\n'

    def train(name: str, validation: float) -> Result:
        config.write_text(text.format(validation))
        return invoke("train", "rollout", config, "--out", tmp_path / name)

    learnt = train("learnt", 0.5)
    assert learnt.exit_code == 0, learnt.output
    assert "2 of 10 games are left out: 1 dropped (duplicate); 1 bad, " in learnt.stderr
    refused = train("refused", 0.0)
    assert isinstance(refused.exception, DataError)
    assert not list((tmp_path / "refused").glob("*.safetensors"))
    assert "epoch" not in refused.stderr


def test_statistics_are_those_of_the_games(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    for i in range(6):
        moves = [40, 20, 21, *[81] * i]
        komi, result = (7.0, "B+R") if i < 4 else (5.5, "0")
        (folder / f"{i}.sgf").write_bytes(sgf_of(moves, KM=komi, RE=result, BR=str(2000 + i)))
    run("import", folder, "--out", tmp_path / "set", "--duplicates")
    write_set(tmp_path / "searched", [random_game(seed, search=True) for seed in (1, 2, 3)])
    text = "".join(
        run("stats", s, *w)
        for s in (folder, tmp_path / "set", tmp_path / "searched")
        for w in ((), ("--json",))
    )
    assert_expected("data/statistics.txt", text)


def test_mistakes_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert_transcript("data/mistakes.txt", lambda line: refusal(lambda: run(*line.split())))


def public_datasets() -> list[PublicDataset]:
    assert len(download.COLLECTIONS) > 3
    return list(download.COLLECTIONS.values())


def test_public_data_sets_say_where_they_are_and_how_to_get_them() -> None:
    for dataset in public_datasets():
        assert dataset.page.startswith(("http://", "https://"))
        assert dataset.sizes
        assert dataset.licence
        assert "miai go data import" in dataset.instructions
        assert not dataset.url or dataset.url.startswith("https://")


def test_they_are_listed() -> None:
    rows = json.loads(run("list", "--json"))
    assert [row["name"] for row in rows] == sorted(d.name for d in public_datasets())
    text = run("list")
    assert all(row["page"] in text for row in rows)


def test_a_download_without_network_says_how_to_go_on(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    url = f"https://127.0.0.1:{port}/games.tgz"
    with pytest.raises(DataError, match=r"miai go data import games\.tgz"):
        download.fetch(url, tmp_path / "games.tgz", sha256="", trust_first=True)
    for other in ("http://127.0.0.1/a.tgz", "file:///etc/passwd", "ftp://a/b"):
        with pytest.raises(DataError, match="only https"):
            download.fetch(other, tmp_path / "a.tgz", sha256="0" * 64)
    with pytest.raises(DataError, match="--sha256"):
        download.fetch(url, tmp_path / "games.tgz", sha256="")
    with pytest.raises(DataError, match="not a SHA-256"):
        download.fetch(url, tmp_path / "games.tgz", sha256="abc")
    assert list(tmp_path.iterdir()) == []


def test_redirections_lead_to_https_only() -> None:
    handler = download._OnlyHttps()
    request = urllib.request.Request("https://example.org/a")
    with pytest.raises(DataError, match="only https"):
        handler.redirect_request(request, None, 302, "", {}, "http://example.org/b")
    moved = handler.redirect_request(request, None, 302, "", {}, "https://example.org/b")
    assert moved.full_url == "https://example.org/b"


class Broken(io.BytesIO):
    """A stream that breaks off."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(4)
        if not data:
            raise OSError("connection reset")
        return data


def test_downloads_are_kept_whole_with_their_checksum_or_not_at_all(tmp_path: Path) -> None:
    data = b"games" * 1000
    good = hashlib.sha256(data).hexdigest()
    path = tmp_path / "a.tgz"
    refused: list[tuple[Any, dict[str, Any]]] = [
        (io.BytesIO(data), {"expected": "0" * 64}),
        (io.BytesIO(data), {"expected": good, "max_bytes": 4999}),
        (Broken(data), {"expected": good}),
    ]
    for stream, options in refused:
        with pytest.raises((DataError, OSError)):
            download.save(stream, path, **options)
        assert list(tmp_path.iterdir()) == []
    assert download.save(io.BytesIO(data), path, expected=good) == good
    assert path.read_bytes() == data
    path.unlink()
    assert download.expected_checksum(path, "", trust_first=True) == ""
    download.save(io.BytesIO(data), path, expected="")
    assert download.expected_checksum(path, "", trust_first=False) == good  # as noted
    (tmp_path / "a.tgz.sha256").write_text("garbage")
    with pytest.raises(DataError, match="not a SHA-256"):
        download.expected_checksum(path, "", trust_first=True)


# -- the page on data: its code and commands run, and its tables name what there is ----------------


PAGE = (Path(__file__).parents[2] / "docs" / "go-data.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
def test_its_code_and_commands_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(Path(__file__).parents[2] / "configs")
    names: dict[str, Any] = {}
    output = ""
    for language, text in BLOCKS:
        if language == "python":
            exec(text, names)
            continue
        assert language == "sh"
        for line in text.splitlines():
            assert line.startswith("miai ")
            if "tournament" in line:
                done = run_miai([*shlex.split(line)[1:], "--set", "rounds=1"], cwd=tmp_path)
                assert done.returncode == 0, done.stderr
                continue
            assert line.startswith("miai go ")
            output += go_commands.run(*shlex.split(line)[2:])
    assert len(BLOCKS) == 8
    assert "40  written to nine" in output
    assert "chess.sgf: " in output
    assert "40 games of 9x9, 1200 moves" in output
    assert "40  annotated" in output
    assert "4  games played" in output
    assert "12  written to nine-agents" in output


def test_its_tables_name_the_options_and_the_columns() -> None:
    known = "".join(
        invoke("data", name, "--help", env={"COLUMNS": "200"}).stdout
        for name in ("import", "annotate", "play")
    )
    options = set(re.findall(r"`(--[\w-]+)`", PAGE))
    for option in options - {"--json", "--sha256", "--trust-first", "--records", "--set"}:
        assert option in known, option
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| \w", PAGE, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"\w+", row)} == set(COLUMNS)
