"""What a seat was not told reaches no browser that sits there.

Each game is played twice, with two histories that one seat cannot tell apart. Every byte that the
server sends to that seat's browser, and to a spectator's, must be the same.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.framework.twin_histories import ALL_SEEING, SEATS, twins
from tests.web.server import Browser, Events, is_turn, running

import miai


def sent(
    folder: Path, name: str, seat: int, history: Sequence[int], patch: pytest.MonkeyPatch
) -> tuple[list[bytes], list[bytes]]:
    """Return the bytes sent to a seat and to a spectator while a history is played."""
    state = miai.load_game(name).new_initial_state()
    chance: list[int] = []
    steps: list[tuple[int, int]] = []
    for action in history:
        actor = int(state.current_player())
        steps += [(actor, action)] if actor >= 0 else []
        chance += [action] if actor < 0 else []
        state.apply_action(action)
    draws = iter(chance)
    patch.setattr("miai.playing.match._draw", lambda outcomes, rng: next(draws))
    patch.setattr(secrets, "token_hex", lambda size: "0123456789ab")
    asked: list[bytes] = []
    asked_public: set[bytes] = set()  # the opponent may have tried in vain more often
    with running(folder) as port:
        own, other, spectator = Browser(port), Browser(port), Browser(port)
        own.enter()
        spectator.enter()
        chairs = {f"players__{player}__agent": "guest" for player in (0, 1)}
        table = own.new_table(name, **{**chairs, f"players__{seat}__agent": "me"})
        with own.watching(table) as seen, spectator.watching(table) as public:
            seen.next()
            public.next()
            address = own.post(f"{table}/invitations/{1 - seat}", {}).json["address"]
            other.ask("/" + address.split("/", 3)[3])
            with other.watching(table) as theirs:
                for actor, action in steps:
                    browser, events = (own, seen) if actor == seat else (other, theirs)
                    news = events.until(
                        lambda n, action=action: (
                            is_turn(n) and action in [m["action"] for m in n["frame"]["moves"]]
                        )
                    )
                    paths = [f"{table}/{path}" for path in ("estimate", "analysis")]
                    if browser is own:
                        asked += [own.ask(path).body for path in paths]
                    asked_public |= {spectator.ask(path).body for path in paths}
                    answer = {"number": news["frame"]["number"], "kind": "move", "action": action}
                    assert browser.post(f"{table}/answers", answer).status == 200
                    events.next()
                seen.until(is_turn)  # histories end where the seat is to act
                with ThreadPoolExecutor() as pool:  # each waits for a silence
                    list(pool.map(Events.drain, (seen, public)))
                assert all(b"problem" in answer for answer in asked_public)
                pages = [own.ask(path).body for path in (table, "/", f"{table}/replay")]
                pages += [spectator.ask(path).body for path in (table, "/")]
        pages = [re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d", b"TIME", content) for content in pages]
        return seen.lines + asked + pages[:3], public.lines + sorted(asked_public) + pages[3:]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seat"), [pair for pair in SEATS if pair not in ALL_SEEING])
def test_two_histories_that_look_the_same_send_the_same(
    name: str, seat: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = twins(name, seat)
    assert first != second
    shown = []
    for number, history in enumerate((first, second)):
        with monkeypatch.context() as patch:
            shown.append(sent(tmp_path / str(number), name, seat, history, patch))
    assert shown[0][0] == shown[1][0]
    assert shown[0][1] == shown[1][1]
