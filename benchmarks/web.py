"""How quickly `miai web` answers, and what its pages cost a running tournament.

Servers, runners and agents are real processes, the browser is Debian's chromium, and all traffic
stays on the loopback interface. Parts:

`start`       seconds from the command to a board on the screen of a browser that is running: the
              page of a game that was begun before, of tic-tac-toe and of Go, whose rules are
              compiled.
`click`       milliseconds from a click on a board of Go until the server has acknowledged it, and
              until the new position is drawn.
`games`       many games at once, each with a person that clicks after a second or so, against
              agents in processes of their own: milliseconds from a click to its answer, from the
              time at which all have begun.
`runner`      share of a core that an open page of a running tournament costs its runner and its
              server; pairs of equal intervals with and without the page.
`spectators`  games per second of a run with many spectators, by those with none, in alternation.
              Runner, worker and agents have the first core; the server and the spectators' clients
              the last one, as they would have on other machines. The same for processor time of
              the run per game, which other work on the machine disturbs less.

    python benchmarks/web.py [--json] [--parts NAME ...] [--games N] [--spectators N]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import math
import os
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil

from common.conditions import conditions, spread
from miai_tournaments.store.folder import runner_of
from miai_tournaments.store.store import Store

TOKEN = "a-token-of-the-benchmark"  # noqa: S105 - of servers on loopback that end with it
CHROMIUM = "/usr/bin/chromium"
MIAI = ("-m", "miai")
WAIT_SECONDS = 120.0
STREAMS = 16  # of a browser; the server ends the oldest of more


class Client:
    """A browser without a screen; it keeps its cookie."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookie = ""
        reply, _ = self.ask(f"/?{urlencode({'token': TOKEN})}")
        self.cookie = (reply.getheader("set-cookie") or "").partition(";")[0]

    def ask(
        self, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Return the answer to a request, with its content."""
        connection = self.connect(path, body, kind)
        with contextlib.closing(connection):
            reply = connection.getresponse()
            return reply, reply.read()

    def connect(
        self, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> http.client.HTTPConnection:
        """Send a request and return the connection."""
        host = f"127.0.0.1:{self.port}"
        connection = http.client.HTTPConnection(host, timeout=WAIT_SECONDS)
        headers = {"cookie": self.cookie}
        if body is not None:
            headers |= {"origin": f"http://{host}", "content-type": kind}
        connection.request("POST" if body is not None else "GET", path, body, headers)
        return connection

    def new_table(self, game: str, fields: Mapping[str, str]) -> str:
        """Begin a game and return the path of its page."""
        form = urlencode(fields).encode()
        reply, content = self.ask(f"/games/{game}", form, "application/x-www-form-urlencoded")
        if reply.status != 303:
            sys.exit(f"web.py: no table of {game}: {content.decode()[:300]}")
        return reply.getheader("location") or ""

    def lend(self, page: Any) -> None:
        """Give the cookie to a page's browser."""
        name, _, value = self.cookie.partition("=")
        page.context.add_cookies([{"name": name, "value": value, "url": "http://127.0.0.1"}])

    def news(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield what the server sends to a table's page."""
        connection = self.connect(f"{table}/events")
        with contextlib.closing(connection):
            for line in connection.getresponse():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])


def clients(port: int, streams: int) -> list[Client]:
    """Return a client for each of many streams; those of one browser are the same."""
    browsers = [Client(port) for _ in range(math.ceil(streams / STREAMS))]
    return [browsers[number // STREAMS] for number in range(streams)]


class Server(psutil.Popen):
    """A process of `miai web`.

    Attributes:
      port: where it listens on loopback.
    """

    port = 0


@contextlib.contextmanager
def server(
    folder: Path, *paths: Path, core: int | None = None, python: str = sys.executable
) -> Iterator[Server]:
    """Run `miai web` until the block ends."""
    words = [python, *MIAI, "web", "--port", "0", "--games", str(folder), *map(str, paths)]
    environment = {**os.environ, "MIAI_WEB_TOKEN": TOKEN}
    process = Server(words, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        if core is not None:
            process.cpu_affinity([core])
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None, "the server prints its address"
        process.port = int(found[1])
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_SECONDS)


@contextlib.contextmanager
def browser_page() -> Iterator[Any]:
    """Run a browser with an empty page until the block ends."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 1280, "height": 900})
        browser.close()


# -- start and click ------------------------------------------------------------------------------

GO = {"game.board_size": "9", "players.0.agent": "me", "players.1.agent": "fast-random"}


SMALL = {"players.0.agent": "me", "players.1.agent": "random"}


def measure_start(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds from the command to the first board, compiled rules or not."""
    with browser_page() as page:
        return {
            "start_seconds": spread(_starts(page, "tic_tac_toe", SMALL, arguments), 2),
            "start_seconds_go": spread(_starts(page, "go", GO, arguments), 2),
        }


def _starts(
    page: Any, game: str, fields: Mapping[str, str], arguments: argparse.Namespace
) -> list[float]:
    """Return the seconds of each start, until the page of a game shows its board."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        with server(Path(folder)) as process:
            client = Client(process.port)
            table = client.new_table(game, fields)
            next(news for news in client.news(table) if news["frame"]["turn"])
        client.lend(page)
        for _ in range(arguments.repeats):
            page.goto("about:blank")
            began = time.perf_counter()
            with server(Path(folder), python=arguments.python) as process:
                page.goto(f"http://127.0.0.1:{process.port}{table}", wait_until="commit")
                page.wait_for_selector("#picture svg")
                seconds.append(time.perf_counter() - began)
    return seconds


CLOCK = """() => {
  window.clicks = [];
  document.addEventListener("click", () => clicks.push({ began: performance.now() }), true);
  const ask = window.fetch;
  window.fetch = async (...words) => {
    const reply = await ask(...words);
    if (String(words[0]).endsWith("/answers")) clicks.at(-1).answered ??= performance.now();
    return reply;
  };
  new MutationObserver(() => { if (clicks.length) clicks.at(-1).drawn ??= performance.now(); })
    .observe(document.getElementById("picture"), { childList: true });
}"""


def measure_click(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the milliseconds from clicks to their acknowledgement and to the new board."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as process:
        client = Client(process.port)
        table = client.new_table("go", GO)
        with browser_page() as page:
            client.lend(page)
            page.goto(f"http://127.0.0.1:{process.port}{table}")
            page.wait_for_selector("#picture .area", state="attached")
            page.evaluate(CLOCK)
            rng = random.Random(1)
            for _ in range(arguments.clicks):
                _await(lambda: "Your turn" in page.inner_text("#status"))
                before = len(page.evaluate("clicks"))
                legal = page.evaluate(
                    "frame.moves.filter((m) => m.path.length).map((m) => m.path[0])"
                )
                page.locator(f'#picture .area[data-area="{rng.choice(legal)}"]').click(force=True)
                _await(partial(_is_over, page, before))
            clicks = [click for click in page.evaluate("clicks") if "answered" in click]
    if not clicks:
        sys.exit("web.py: no click was answered")
    answered = [click["answered"] - click["began"] for click in clicks]
    drawn = [click["drawn"] - click["began"] for click in clicks if "drawn" in click]
    return {
        "click_answered_ms": spread(answered, 1),
        "click_answered_ms_p95": round(p95(answered), 1),
        "click_drawn_ms": spread(drawn, 1),
        "clicks": len(clicks),
    }


def _is_over(page: Any, before: int) -> bool:
    """Return whether click number `before` was drawn or refused."""
    clicks = page.evaluate("clicks")
    return (len(clicks) > before and "drawn" in clicks[-1]) or page.inner_text("#problem") != ""


def _await(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > until:
            sys.exit("web.py: the page did not change")
        time.sleep(0.01)


# -- many games -----------------------------------------------------------------------------------


def measure_games(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the milliseconds from clicks to answers in games that are played at once."""
    clicks: list[int] = []
    milliseconds: list[float] = []
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as process:
        fields = {"players.0.agent": "me", "players.1.agent": "random"}
        tables = []
        for client in clients(process.port, arguments.games):
            tables.append((client, client.new_table("phantom_tic_tac_toe", fields)))
        began = threading.Barrier(len(tables), timeout=WAIT_SECONDS)
        threads = [
            threading.Thread(
                target=_play,
                args=(client, table, seed, clicks, milliseconds, began, arguments.seconds + 20),
            )
            for seed, (client, table) in enumerate(tables)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        share = process.cpu_times().user + process.cpu_times().system
    return {
        "games_at_once": arguments.games,
        "answer_ms_median": round(statistics.median(milliseconds), 1),
        "answer_ms_p95": round(p95(milliseconds), 1),
        "clicks": len(clicks),
        "answers": len(milliseconds),
        "server_cpu_ms_per_answer": round(1000 * share / len(milliseconds), 1),
    }


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return sorted(values)[int(0.95 * (len(values) - 1))]


def _play(
    client: Client,
    table: str,
    seed: int,
    clicks: list[int],
    milliseconds: list[float],
    began: threading.Barrier,
    seconds: float,
) -> None:
    """Play a game to its end, or for a time, with a pause before each click.

    Args:
      clicks: takes the number of each position in which the person clicks.
      milliseconds: takes the time until each answer; a click that is refused has none.
      began: passed when it is the person's turn in every game; their agents have started then.
    """
    rng = random.Random(seed)
    until = 0.0
    for news in client.news(table):
        if news["stage"] == "over" or (until and time.monotonic() > until):
            return
        if not news["frame"]["turn"]:
            continue
        if not until:
            began.wait()
            until = time.monotonic() + seconds
        time.sleep(rng.uniform(0.5, 1.5))
        move = rng.choice(news["frame"]["moves"])
        clicks.append(news["frame"]["number"])
        answer = {"kind": "move", "number": news["frame"]["number"], "action": move["action"]}
        asked = time.perf_counter()
        reply, _ = client.ask(f"{table}/answers", json.dumps(answer).encode())
        if reply.status != 200:
            return
        milliseconds.append(1000 * (time.perf_counter() - asked))


# -- a running tournament -------------------------------------------------------------------------

RUN = """
[tournament]
name = "watched"
rounds = 5000
seed = 1

[game]
name = "tic_tac_toe"

[run]
workers = 1

[[players]]
name = "ann"
agent = "mcts"
simulations = 300

[[players]]
name = "bob"
agent = "mcts"
simulations = 300
"""


@contextlib.contextmanager
def tournament(folder: Path, *, core: int | None = None) -> Iterator[psutil.Popen]:
    """Run a tournament in `folder` until the block ends."""
    config = folder.with_suffix(".toml")
    config.write_text(RUN)
    words = [sys.executable, *MIAI, "tournament", "run", str(config), "--out", str(folder)]
    if core is not None:
        words = ["taskset", "-c", str(core), *words]
    process = psutil.Popen(words, stdout=subprocess.DEVNULL)
    try:
        _await(lambda: runner_of(folder) is not None and games_done(folder) > 20)
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_SECONDS)


def games_done(folder: Path) -> int:
    """Return the number of finished games."""
    try:
        with Store.read(folder) as store:
            return store.counts()["done"]
    except Exception:  # the store is being made
        return 0


def used(process: psutil.Popen) -> float:
    """Return the processor time that a process has used, in seconds."""
    times = process.cpu_times()
    return float(times.user + times.system)


def used_by_all(process: psutil.Popen) -> float:
    """Return the processor time of a process and of those that it has begun, in seconds."""
    return sum(sum(each.cpu_times()[:4]) for each in [process, *process.children(recursive=True)])


def measure_runner(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the shares of a core that an open page costs the runner and its server."""
    runner: dict[bool, list[float]] = {False: [], True: []}
    serving = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        with (
            tournament(folder) as run,
            server(Path(name) / "g", folder) as process,
            browser_page() as page,
        ):
            address = f"http://127.0.0.1:{process.port}/runs/0/"
            page.goto(f"{address}?{urlencode({'token': TOKEN})}")
            for turn in range(2 * arguments.pairs):
                watched = turn % 2 == 1
                page.goto(address if watched else "about:blank")
                time.sleep(1)
                before, serving_before, games = used(run), used(process), games_done(folder)
                time.sleep(arguments.seconds)
                games = games_done(folder) - games
                runner[watched].append((used(run) - before) / games)
                if watched:
                    serving.append((used(process) - serving_before) / arguments.seconds)
                    rate = games / arguments.seconds
    pairs = zip(runner[True], runner[False], strict=True)
    return {
        "runner_share_percent": spread([100 * rate * (on - off) for on, off in pairs], 2),
        "server_share_percent": spread([100 * share for share in serving], 1),
        "runner_games_per_second": round(rate, 1),
    }


def measure_spectators(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how much slower a run is with spectators, in percent."""
    cores = sorted(os.sched_getaffinity(0))
    rates: dict[bool, list[float]] = {False: [], True: []}
    costs: dict[bool, list[float]] = {False: [], True: []}
    received = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        with (
            tournament(folder, core=cores[0]) as run,
            server(Path(name) / "g", folder, core=cores[-1]) as process,
        ):
            os.sched_setaffinity(0, [cores[-1]])
            spectators = clients(process.port, arguments.spectators)
            for turn in range(2 * arguments.pairs):
                watched = turn % 2 == 1
                crowd = Crowd(spectators if watched else [])
                with crowd:
                    before, spent, began = games_done(folder), used_by_all(run), time.monotonic()
                    time.sleep(arguments.seconds)
                    games, spent = games_done(folder) - before, used_by_all(run) - spent
                    rates[watched].append(games / (time.monotonic() - began))
                    costs[watched].append(spent / games)
                received += crowd.messages
            os.sched_setaffinity(0, cores)
    ratios = [on / off for on, off in zip(rates[True], rates[False], strict=True)]
    dearer = [on / off for on, off in zip(costs[True], costs[False], strict=True)]
    return {
        "spectators": arguments.spectators,
        "slower_percent": spread([100 * (1 - ratio) for ratio in ratios], 2),
        "dearer_percent": spread([100 * (ratio - 1) for ratio in dearer], 2),
        "games_per_second": [round(statistics.median(rates[on]), 1) for on in (False, True)],
        "messages_per_spectator_and_second": round(
            received / max(1, arguments.spectators) / arguments.pairs / arguments.seconds, 2
        ),
    }


class Crowd:
    """Spectators of the first run, in a thread of this process.

    Attributes:
      messages: number of events that they have received.
    """

    def __init__(self, clients: Sequence[Client]) -> None:
        self._clients = clients
        self.messages = 0
        self._connected = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._watch()))

    def __enter__(self) -> Crowd:
        self._thread.start()
        _await(lambda: self._connected == len(self._clients))
        time.sleep(1)
        self.messages = 0
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    async def _watch(self) -> None:
        watchers = [asyncio.create_task(self._look(client)) for client in self._clients]
        while not self._stop.is_set():
            await asyncio.sleep(0.1)
        for watcher in watchers:
            watcher.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)

    async def _look(self, client: Client) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        request = (
            "GET /runs/0/events HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{client.port}\r\nCookie: {client.cookie}\r\n\r\n"
        )
        writer.write(request.encode())
        await reader.readuntil(b"data: ")
        self._connected += 1
        try:
            while data := await reader.read(1 << 16):
                self.messages += data.count(b"data: ")
        finally:
            writer.close()


PARTS: Mapping[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "start": measure_start,
    "click": measure_click,
    "games": measure_games,
    "runner": measure_runner,
    "spectators": measure_spectators,
}


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS], help="What")
    parser.add_argument(
        "--python", default=sys.executable, help="Interpreter whose `miai web` part start begins"
    )
    parser.add_argument("--repeats", type=int, default=7, help="Starts of the server")
    parser.add_argument("--clicks", type=int, default=60, help="Clicks on a board")
    parser.add_argument("--games", type=int, default=50, help="Games at once")
    parser.add_argument("--spectators", type=int, default=1000, help="Spectators of a run")
    parser.add_argument("--pairs", type=int, default=4, help="Pairs of intervals with and without")
    parser.add_argument("--seconds", type=float, default=15, help="Length of an interval")
    arguments = parser.parse_args(words)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 10_000), hard))
    load = round(os.getloadavg()[0], 2)
    figures: dict[str, Any] = {}
    for part in arguments.parts:
        figures |= PARTS[part](arguments)
    figures |= {"load_before": load, **conditions()}
    if arguments.json:
        print(json.dumps(figures))
        return
    for key, value in figures.items():
        print(f"{key:<36} {value}")


if __name__ == "__main__":
    main()
