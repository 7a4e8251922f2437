"""Games, seeds and openings come from names, not from positions: extension changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import miai
from miai.errors import MiaiError
from miai_tournaments.config.opening_source import Openings
from miai_tournaments.formats.format import Entrants, FormatStep, Meeting
from miai_tournaments.formats.static import RoundRobin, RoundRobinParameters
from miai_tournaments.running.schedule import Schedule, player_seed
from miai_tournaments.store.rows import PlayerRow, ScheduledGame

GAME = miai.load_game("tic_tac_toe")

names = st.lists(
    st.text("abcdefghXYZ0123456789.+-_", min_size=1, max_size=8),
    min_size=2,
    max_size=6,
    unique_by=str.casefold,
)
rounds = st.integers(1, 4)
seeds = st.integers(0, 2**63 - 1)
plies = st.integers(0, 3)


def players(found: list[str], **parameters: int) -> list[PlayerRow]:
    return [PlayerRow(name=name, agent="random", parameters=parameters) for name in found]


def schedule(
    rows: list[PlayerRow], *, rounds: int = 2, seed: int = 0, random_plies: int = 2
) -> dict[str, ScheduledGame]:
    entrants = Entrants(players=tuple(row.name for row in rows), rounds=rounds)
    format_ = RoundRobin(entrants, RoundRobinParameters())
    openings = Openings(GAME, random_plies)
    games = Schedule(format_, rows, seed=seed, openings=openings).advance(room=1)
    by_id = {game.game_id: game for game in games}
    assert len(by_id) == len(games), "ids are unique"
    return by_id


@given(names, rounds, seeds, plies)
def test_everybody_plays_everybody_in_colour_swapped_pairs(
    found: list[str], rounds: int, seed: int, plies: int
) -> None:
    games = schedule(players(found), rounds=rounds, seed=seed, random_plies=plies)
    assert len(games) == rounds * len(found) * (len(found) - 1)
    seats = Counter(game.players for game in games.values())
    assert set(seats.values()) == {rounds}
    pairs: dict[str, list[ScheduledGame]] = {}
    for game in games.values():
        pairs.setdefault(game.pair_id, []).append(game)
    for one, other in pairs.values():
        assert one.players == other.players[::-1]
        assert (one.seed, one.opening, one.round) == (other.seed, other.opening, other.round)
        assert len(one.opening) == plies
        for name in one.players:
            assert player_seed(one, name) == player_seed(other, name)
        assert len({player_seed(one, name) for name in one.players}) == 2
    assert len({pair[0].seed for pair in pairs.values()}) == len(pairs)


@settings(max_examples=40)
@given(names, rounds, st.integers(0, 3), st.randoms(use_true_random=False))
def test_more_players_and_rounds_and_another_order_keep_every_game(
    found: list[str], rounds: int, more: int, random: object
) -> None:
    few = schedule(players(found[:-1] if len(found) > 2 else found), rounds=rounds)
    shuffled = players(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # a random.Random
    many = schedule(shuffled, rounds=rounds + more)
    assert few.items() <= many.items()


def test_a_seed_depends_on_run_agent_and_pair_but_not_on_parameters() -> None:
    """A release that adds or removes a parameter of an agent changes no games."""

    def seed(rows: list[PlayerRow], run: int = 0) -> int:
        return schedule(rows, seed=run)["a~b~0001a"].seed

    base = seed(players(["a", "b"]))
    assert base == seed(players(["a", "b", "c"]))
    assert base != seed(players(["a", "b"]), run=1)
    assert base == seed(players(["a", "b"], simulations=7))
    other = PlayerRow(name="a", agent="mcts", parameters={})
    assert base != seed([other, *players(["b"])])
    assert base != schedule(players(["a", "b"]))["a~b~0002a"].seed


def test_ids_and_seeds_stay_what_they_are() -> None:
    """A change would give every config other games."""
    game = schedule(players(["a", "b"]), seed=1)["a~b~0002b"]
    assert game.players == ("b", "a")
    assert game.seed == 8621923943556524953
    assert player_seed(game, "a") == 5624159205264952538


class Odd(RoundRobin):
    """A format of a plugin that answers what it should not."""

    answer: FormatStep | Exception = FormatStep()
    static = False

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (FormatStep(), "the format (2 rounds) waits for no game: a defect"),
        (ValueError("x"), "the format (2 rounds) failed: ValueError: x; a defect of its plugin"),
        (MiaiError("is full"), "is full"),
    ],
)
def test_a_format_that_fails_is_named(answer: FormatStep | Exception, message: str) -> None:
    odd = Odd(Entrants(players=("a", "b"), rounds=2), RoundRobinParameters())
    odd.answer = answer
    made = Schedule(odd, players(["a", "b"]), seed=1, openings=Openings(GAME))
    with pytest.raises(MiaiError) as caught:
        made.advance(room=1)
    assert str(caught.value) == message
