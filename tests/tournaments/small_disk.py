"""Plays a tournament on a disk that is full or read-only now and then; see test_reliability.py.

Run in a mount namespace of its own: ``unshare -rm python -m tests.tournaments.small_disk CONFIG
FOLDER``. In the end the run lies in FOLDER/out.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.seeds import seed_of_test
from tests.tournaments.support import command, environment

from miai_tournaments.store.folder import has_store
from miai_tournaments.store.store import Store

DISTURBANCES = 20
SIZE = 12 << 20
ENOUGH = 256 << 20  # for the last rounds: a fast machine plays many


def main(config: Path, folder: Path) -> None:
    """Disturb, finish, and tell what happened as one line of JSON."""
    seed = seed_of_test()
    rng = random.Random(seed)
    disk = folder / "disk"
    disk.mkdir()
    mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", disk)
    disturbed = refused = 0
    rounds, run = 10, disk / "run"
    while disturbed < DISTURBANCES:
        process = begin(config, run, rounds)
        time.sleep(rng.uniform(0.5, 4.0))
        if process.poll() is None:
            disturbed += 1
            if rng.random() < 0.5:
                fill(disk / "filler", disk)
            else:
                mount("-o", "remount,ro,force", disk, check=False)
        _, errors = process.communicate(timeout=100)
        assert "Traceback" not in errors, errors
        refused += process.returncode != 0
        mount("-o", "remount,rw", disk)
        (disk / "filler").unlink(missing_ok=True)
        if has_store(run):
            with Store.read(run) as store:
                if store.counts()["done"] >= 6 * rounds:
                    rounds += 10
    mount("-o", f"remount,size={ENOUGH}", disk)
    process = begin(config, run, rounds)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    shutil.copytree(run, folder / "out")
    print(json.dumps({"disturbed": disturbed, "refused": refused, "rounds": rounds}))


def begin(config: Path, run: Path, rounds: int) -> subprocess.Popen[str]:
    """Begin or go on with the run."""
    return subprocess.Popen(
        command("run", config, "--out", run, "--set", f"rounds={rounds}", "--workers", 2),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def fill(file: Path, disk: Path) -> None:
    """Write until nothing is left on the disk."""
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as filler:
        while shutil.disk_usage(disk).free:
            filler.write(bytes(4096))


def mount(*words: object, check: bool = True) -> None:
    """Carry out ``mount``."""
    subprocess.run(["mount", *map(str, words)], check=check, capture_output=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
