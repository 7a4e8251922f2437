"""The check of renderers passes good ones, and names what is wrong with broken ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.framework.broken_games import finding
from tests.framework.histories import view_of
from tests.whole_texts import assert_expected

import miai
from miai.errors import ConformanceError, ParameterError
from miai.game import Game, State
from miai.information import PlayerView
from miai.render import Clicks, PlainRenderer
from miai.testing import RENDERER_RULES, check_renderer
from miai_classics.render import PhantomRenderer, TicTacToeRenderer


class Good(TicTacToeRenderer):
    def __init__(self, game: Game) -> None:
        super().__init__(game, game.parameters)


class Raises(Good):
    def svg(self, view: PlayerView) -> str:
        raise RuntimeError("out of ink")


class HintsAtNothing(Good):
    def hint(self, view: PlayerView) -> None:
        return None


SPOILT = {
    "LeavesElementsOpen": ("</svg>", "<g></svg>"),
    "HasNoViewBox": ("viewBox", "data-box"),
    "HandlesEvents": ("<svg", '<svg onclick="alert(1)"'),
    "LoadsFromThisServer": ("#tic", "/tic"),
}
"""Renderers that have one text for another in each picture, by name."""


def spoilt(name: str) -> type[Good]:
    def svg(renderer: Good, view: PlayerView) -> str:
        return TicTacToeRenderer.svg(renderer, view).replace(*SPOILT[name])

    return type(name, (Good,), {"svg": svg})


class RunsScripts(Good):
    def svg_definitions(self) -> str:
        return str(super().svg_definitions()) + "<script>alert(1)</script>"


class LoadsPictures(Good):
    def svg_state(self, state: State) -> str:
        return super().svg_state(state).replace("#tic", "https://example.org/#tic")


class RefersToNothing(Good):
    def svg_definitions(self) -> str:
        return ""


class ExplainsNothing(Good):
    def legend(self) -> list[tuple[str, str]]:
        return [(sample, "") for sample, _ in super().legend()]


class ExplainsWithoutAPicture(Good):
    def legend(self) -> list[tuple[str, str]]:
        return [("a yellow square", meaning) for _, meaning in super().legend()]


class CountsItsCalls(Good):
    calls = 0

    def svg(self, view: PlayerView) -> str:
        self.calls += 1
        return super().svg(view).replace("<svg", f'<svg data-call="{self.calls}"')


class RemembersTheTruth(PhantomRenderer):
    """Draws what it once drew for everybody."""

    truth = ""

    def __init__(self, game: Game) -> None:
        super().__init__(game, game.parameters)

    def svg_state(self, state: State) -> str:
        self.truth = str(state)
        return super().svg_state(state)

    def render(self, view: PlayerView) -> str:
        return super().render(view) + self.truth


class ClicksOutside(Good):
    def clicks(self, view: PlayerView) -> Clicks:
        clicks = super().clicks(view)
        first, *others = clicks.regions
        return replace(clicks, regions=[replace(first, box=(350, 0, 40, 40)), *others])


class HaloOutside(Good):
    def clicks(self, view: PlayerView) -> Clicks:
        clicks = super().clicks(view)
        first, *others = clicks.regions
        return replace(clicks, regions=[replace(first, halo=(-1, 0, 40, 40)), *others])


class NamesTwoAlike(Good):
    def clicks(self, view: PlayerView) -> Clicks:
        clicks = super().clicks(view)
        return replace(clicks, regions=[*clicks.regions, clicks.regions[0]])


class OffersTakenCells(Good):
    def clicks(self, view: PlayerView) -> Clicks:
        clicks = super().clicks(view)
        return replace(clicks, actions={a: (r.name,) for a, r in enumerate(clicks.regions)})


class ClicksOnNoRegion(Good):
    def clicks(self, view: PlayerView) -> Clicks:
        return replace(super().clicks(view), regions=[])


class ClicksNowhere(Good):
    def clicks(self, view: PlayerView) -> Clicks:
        return replace(super().clicks(view), actions=dict.fromkeys(view.legal_actions, ()))


class GoesOnWhereAnotherEnds(Good):
    def clicks(self, view: PlayerView) -> Clicks:
        clicks = super().clicks(view)
        actions = dict(clicks.actions)
        if len(actions) > 1:
            first, second, *_ = actions
            actions[second] = (*actions[first], *actions[second])
        return replace(clicks, actions=actions)


BROKEN: dict[type[Good | PhantomRenderer], str] = {
    Raises: "raises",
    HintsAtNothing: "text",
    **dict.fromkeys(map(spoilt, SPOILT), "picture"),
    RunsScripts: "picture",
    LoadsPictures: "picture",
    RefersToNothing: "picture",
    ExplainsNothing: "picture",
    ExplainsWithoutAPicture: "picture",
    CountsItsCalls: "observations-alone",
    RemembersTheTruth: "observations-alone",
    ClicksOutside: "regions",
    HaloOutside: "regions",
    NamesTwoAlike: "regions",
    OffersTakenCells: "actions",
    ClicksOnNoRegion: "actions",
    ClicksNowhere: "actions",
    GoesOnWhereAnotherEnds: "paths",
}


@pytest.mark.parametrize("factory", BROKEN)
def test_a_broken_renderer_is_caught_by_the_right_rule(
    factory: type[Good | PhantomRenderer],
) -> None:
    name = "phantom_tic_tac_toe" if factory is RemembersTheTruth else "tic_tac_toe"
    with pytest.raises(ConformanceError) as caught:
        check_renderer(miai.load_game(name), factory, games=1)
    assert caught.value.rules == (BROKEN[factory],), caught.value
    message = finding(caught.value, BROKEN[factory])
    assert_expected(f"broken-renderers/{factory.__name__}.txt", message)
    check_renderer(miai.load_game(name), factory, games=1, skip=[BROKEN[factory]])


def test_every_rule_has_a_renderer_that_breaks_it() -> None:
    assert set(BROKEN.values()) == set(RENDERER_RULES)


@pytest.mark.parametrize("factory", [Good, lambda game: PlainRenderer()])
def test_good_renderers_pass(factory: Callable[[Game], PlainRenderer | Good]) -> None:
    report = check_renderer(miai.load_game("tic_tac_toe"), factory, games=3, max_plies=4)
    assert (report.games, report.positions) == (3, 15)


def test_actions_may_share_all_their_clicks() -> None:
    class OffersAMenu(Good):
        def clicks(self, view: PlayerView) -> Clicks:
            clicks = super().clicks(view)
            first = clicks.regions[0].name
            return replace(clicks, actions=dict.fromkeys(view.legal_actions, (first, first)))

    check_renderer(miai.load_game("tic_tac_toe"), OffersAMenu, games=2)


def test_a_rule_can_be_skipped_but_not_misspelt() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'regions'"):
        check_renderer(miai.load_game("tic_tac_toe"), skip=["region"])


def test_authors_have_a_fixture(
    miai_check_renderer: Callable[..., miai.testing.ConformanceReport],
) -> None:
    assert miai_check_renderer("kuhn_poker", games=2).games == 2


BIDS = {"num_cards": 3, "imp_info": True, "points_order": "descending"}


@pytest.mark.parametrize(
    ("name", "settings", "actions", "shown"),
    [
        ("tic_tac_toe", {}, [4], "...\n.x.\n..."),
        ("phantom_tic_tac_toe", {}, [], "no observations yet"),
        ("phantom_tic_tac_toe", {}, [4, 4, 0], "you played b2: {'stood': True}"),
        ("kuhn_poker", {}, [4, 3, 1, 0], "{'card': 'K'}\nyou played bet\nthey played pass"),
        (
            "goofspiel",
            BIDS,
            [2, 1, 0, 0],
            "player1 played 3: {'winners': [0]}\nplayer1 played 1: {'winners': [None, 1]}",
        ),
    ],
)
def test_without_a_renderer_observations_are_shown(
    name: str, settings: dict[str, Any], actions: list[int], shown: str
) -> None:
    game = miai.load_game(name, **settings)
    assert PlainRenderer().render(view_of(game, 0, actions)) == shown
