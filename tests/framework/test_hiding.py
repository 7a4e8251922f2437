"""What a process that hides folders from itself can still do with files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from miai.process.landlock import hindrance, landlock_version

TRY = """
import json, os, sys
from pathlib import Path
from miai.process.landlock import hide

hidden, own, tries = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
assert hide([Path(hidden)], own=Path(own), others="scratch-", free=True)
told = []
does = {"read": lambda path: Path(path).read_text(), "link": os.link, "replace": os.replace}
for name, *paths in tries:
    try:
        does[name](*paths)
        told.append("done")
    except OSError as error:
        told.append(type(error).__name__)
print(json.dumps(told))
"""


def tried(hidden: Path, own: Path, *tries: tuple[str | Path, ...]) -> list[str]:
    """Return what became of each of `tries`, ``(what, *paths)``, in a process of its own.

    Nothing is told where the kernel has no Landlock, or one that forbids all moving.
    """
    given = json.dumps([[str(word) for word in words] for words in tries])
    if landlock_version() < 2:
        return []
    command = [sys.executable, "-c", TRY, str(hidden), str(own), given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


def made(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text")


def test_files_move_between_folders_but_not_out_of_hidden_ones(tmp_path: Path) -> None:
    run, own, free = tmp_path / "run", tmp_path / "scratch-1", tmp_path / "free"
    made(run / "log", own / "a" / "file", own / "b" / "there", free / "weights")
    assert tried(
        run,
        own,
        ("replace", own / "a" / "file", own / "b" / "file"),
        ("replace", own / "b" / "file", free / "file"),
        ("link", free / "file", own / "file"),
        ("link", run / "log", free / "log"),
        ("replace", run / "log", free / "log"),
    ) in ([], ["done", "done", "done", "OSError", "PermissionError"])


def test_own_files_are_read_where_all_temporary_ones_lie_in_what_is_hidden(tmp_path: Path) -> None:
    run = tmp_path / "run"
    own, other = run / "tmp" / "scratch-1", run / "tmp" / "scratch-2"
    made(run / "log", own / "file", other / "file")
    reads = [("read", folder / "file") for folder in (own, other)]
    output = tried(run, own, ("read", run / "log"), *reads)
    assert output in ([], ["PermissionError", "done", "PermissionError"])


def test_temporary_files_of_others_are_not_read(tmp_path: Path) -> None:
    run, own, other = tmp_path / "run", tmp_path / "tmp" / "scratch-1", tmp_path / "tmp/scratch-2"
    made(run / "log", own / "file", other / "file", tmp_path / "tmp" / "shared" / "file")
    folders = (own, other, tmp_path / "tmp" / "shared")
    reads = [("read", folder / "file") for folder in folders]
    assert tried(run, own, *reads) in ([], ["done", "PermissionError", "done"])


def test_a_link_on_the_way_to_what_is_hidden_is_not_replaced(tmp_path: Path) -> None:
    own, other = tmp_path / "scratch-1", tmp_path / "links" / "other"
    made(tmp_path / "real" / "run" / "log", own / "file", tmp_path / "elsewhere" / "run" / "log")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "one").symlink_to("two")
    (tmp_path / "links" / "two").symlink_to(tmp_path / "real")
    for name in ("one", "two"):
        link = tmp_path / "links" / name
        results = tried(tmp_path / "links" / "one" / "run", own, ("replace", link, other))
        assert results in (["PermissionError"], [])
        assert link.is_symlink()


def test_a_folder_that_cannot_be_listed_is_reported() -> None:
    if not landlock_version():
        assert hindrance(Path.cwd()) == "this system has no Landlock"
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for mode, output in ((0o755, None), (0o311, f"{folder / 'above'} cannot be listed")):
            (folder / "above" / "run").mkdir(parents=True, exist_ok=True)
            (folder / "above").chmod(mode)
            found = as_nobody(lambda: hindrance(folder / "above" / "run"))
            (folder / "above").chmod(0o755)
            assert found == output


def test_a_folder_that_is_not_there_yet_can_be_hidden(tmp_path: Path) -> None:
    output = None if landlock_version() else "this system has no Landlock"
    assert hindrance(tmp_path / "runs" / "of" / "today") == output


def as_nobody(ask: Callable[[], str | None]) -> str | None:
    """Return what a process of somebody without rights answers; root may list every folder."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        if os.geteuid() == 0:
            os.setuid(65534)
        os.write(writer, json.dumps(ask()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        output: str | None = json.loads(answer.read())
    os.waitpid(child, 0)
    return output
