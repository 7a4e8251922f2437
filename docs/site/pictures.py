"""Makes the pictures of the documentation anew: `make pictures`.

Games are played with fixed seeds on a server of miai's own, and photographed in Debian's chromium.
Charts are drawn from figures beside this file: ``ladder-7x7.csv``, of a run of
``configs/go-zero-7x7.toml``, and ``seconds-9x9.csv``, of one of ``configs/go-seconds.toml``.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import miai
from miai.pages.charts import Axis, Plot, Points, figure
from miai.pages.replay_page import replay_page
from miai.process.programs import find_program
from miai_go.learning.training.zero import ladder_figure

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT: Final = Path(__file__).parents[2]
PICTURES: Final = ROOT / "docs" / "pictures"
WIDTH, HEIGHT = 1280, 900
SECONDS: Final = 120.0
RUN: Final = """
[tournament]
name = "small"
seed = 1
rounds = 20

[game]
name = "go"
board_size = 9

[openings]
random_plies = 2

[[players]]
name = "fast-random"
agent = "fast-random"
"""
PLAYERS: Final = (100, 1_000, 4_000)


def main() -> None:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright

    draw_charts()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        chromium = playwright.chromium.launch(
            executable_path=str(find_program("chromium", advice={})),
            args=["--no-sandbox", "--disable-gpu"],
        )
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        take_replay(page, folder)
        with tournament(folder / "go-9x9"), server(folder, folder / "go-9x9") as address:
            page.goto(address)
            page.wait_for_url(address.partition("?")[0])
            base = address.partition("/?")[0]
            take(page, "lobby")
            take_go(page, base)
            take_rbc(page, base)
            take_trainer(page, base)
            take_run(page, base)
        chromium.close()


def take(page: Page, name: str) -> None:
    """Write what a page shows as a PNG, when all its images are there."""
    until = time.monotonic() + SECONDS
    while not page.evaluate("[...document.images].every((image) => image.complete)"):
        if time.monotonic() > until:
            sys.exit(f"{page.url}: an image is missing")
        page.wait_for_timeout(50)
    page.screenshot(path=PICTURES / f"{name}.png")
    print(PICTURES / f"{name}.png")


def draw_charts() -> None:
    """Draw the Elo of the weights of a run from nothing, and the Elo over the seconds per move."""
    ladder = ladder_figure(rows_of("ladder-7x7.csv"))
    (PICTURES / "go-zero-7x7.svg").write_text(ladder, encoding="utf-8")
    rows = rows_of("seconds-9x9.csv")
    points = [(seconds, elo) for seconds, elo, _ in rows]
    spans = [(elo - margin, elo + margin) for _, elo, margin in rows]
    panel = Plot(
        title="",
        x=Axis(label="seconds per move", logarithmic=True, names={s: f"{s:g}" for s, _ in points}),
        y=Axis(label="Elo"),
        marks=[Points(label="", points=points, y_spans=spans, series=0)],
        width=460,
    )
    chart = figure("Elo over the seconds per move", [[panel]], note="Bars are 95 % intervals.")
    (PICTURES / "go-seconds.svg").write_text(chart, encoding="utf-8")


def rows_of(name: str) -> list[tuple[float, float, float]]:
    """Return the rows of a file beside this one: three numbers each."""
    with (Path(__file__).parent / name).open(encoding="utf-8") as file:
        return [(float(x), float(elo), float(margin)) for x, elo, margin in [*csv.reader(file)][1:]]


def take_replay(page: Page, folder: Path) -> None:
    """Take a game of blind chess: what both players believe, against the truth."""
    game = miai.load_game("rbc")
    agents = [miai.make_agent(name, game) for name in ("rbc-random", "attacker")]
    record = miai.play(game, agents, seed=7)
    path = folder / "replay.html"
    path.write_text(replay_page(record, "blind chess"), encoding="utf-8")
    page.goto(f"{path.as_uri()}#p14")
    page.wait_for_timeout(1500)
    take(page, "replay")


def take_go(page: Page, base: str) -> None:
    """Take a game of Go with a hint, the moves it considered, and an estimate of owners."""
    begin(page, base, "go", {"players.1.agent": "mcts", "game.board_size": "9", "seed": "5"})
    for move in ("E5", "G7", "C3", "G3", "C7"):
        play(page, move)
    page.click("#advice")
    page.wait_for_selector("#thoughts table")
    page.click("#estimate summary")
    page.wait_for_selector("#estimate .picture svg")
    take(page, "go")


def take_rbc(page: Page, base: str) -> None:
    """Take a game of blind chess with the player's belief."""
    begin(page, base, "rbc", {"players.1.agent": "attacker", "seed": "5"})
    for move in ("sense e7", "e2e4", "sense d6", "g1f3", "sense e6"):
        play(page, move)
    page.click("#estimate summary")
    page.wait_for_selector("#estimate .picture svg")
    take(page, "rbc")


def take_trainer(page: Page, base: str) -> None:
    """Take a problem of life and death after a wrong move."""
    page.goto(f"{base}/problems/shipped-8-9/120")
    page.wait_for_selector(".area")
    page.locator(".area").last.click()
    page.wait_for_timeout(1500)
    take(page, "trainer")


def take_run(page: Page, base: str) -> None:
    """Take a tournament while it is played."""
    page.goto(f"{base}/runs/0/")
    until = time.monotonic() + SECONDS
    while "stop" not in page.inner_text("#state") or page.evaluate(
        "document.querySelector('progress').value < 24"
        " || ![...document.querySelectorAll('#boards img')].some((board) => board.complete)"
    ):
        if time.monotonic() > until:
            sys.exit("the tournament did not begin")
        page.wait_for_timeout(300)
    take(page, "run")


def begin(page: Page, base: str, game: str, values: dict[str, str]) -> None:
    """Make a table by its form."""
    page.goto(f"{base}/games/{game}")
    for name, value in values.items():
        field = page.locator(f"[name='{name}']")
        if field.evaluate("element => element.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.evaluate("(element, value) => { element.value = value; }", value)
    page.click("button.go")
    wait(page, "frame.turn")


def play(page: Page, move: str) -> None:
    """Type a move, and wait until it is one's turn again."""
    number = page.evaluate("frame.number")
    page.fill("#move", move)
    page.press("#move", "Enter")
    wait(page, f"frame.turn && frame.number > {number}")


def wait(page: Page, condition: str) -> None:
    """Wait for a condition of the page's script."""
    until = time.monotonic() + SECONDS
    while not page.evaluate(f"typeof frame !== 'undefined' && frame && ({condition})"):
        if time.monotonic() > until:
            said = page.inner_text("main")[:500]
            sys.exit(f"{page.url}: waited in vain for {condition}: {said}")
        page.wait_for_timeout(30)


@contextmanager
def tournament(out: Path) -> Iterator[None]:
    """Play a tournament meanwhile."""
    config = out.with_suffix(".toml")
    players = [
        f'[[players]]\nname = "mcts-{n}"\nagent = "mcts"\nsimulations = {n}\n' for n in PLAYERS
    ]
    config.write_text(RUN + "\n".join(players), encoding="utf-8")
    command = [sys.executable, "-m", "miai", "tournament", "run", str(config), "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        until = time.monotonic() + SECONDS
        while not (out / "tournament.sqlite").exists() and time.monotonic() < until:
            time.sleep(0.1)
        try:
            yield
        finally:
            process.kill()


@contextmanager
def server(folder: Path, run: Path) -> Iterator[str]:
    """Serve `miai web`; give its address."""
    words = ["web", "--port", "0", "--games", str(folder / "games"), str(run)]
    # The games of OpenSpiel would be a hundred more pictures, below the edge of the lobby's.
    environment = {**os.environ, "MIAI_DISABLE_PLUGINS": "openspiel"}
    with subprocess.Popen(
        [sys.executable, "-m", "miai", *words],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().removeprefix("miai web: ").strip()
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
