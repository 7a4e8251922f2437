"""Playthroughs: a short game of each kind with all that it tells and draws, as files to be read."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.equilibria.test_equilibria import load
from tests.plugins.test_clicks_of_games import IDS, VARIANTS
from tests.whole_texts import assert_expected

from miai import PlayerView, State
from miai.api import renderer_for
from miai.pages.replay_frames import BeliefFollower
from miai.parameters import describe_parameters
from miai.plugins.loader import registry
from miai.render import (
    AnnouncingRenderer,
    BeliefDrawingRenderer,
    Clickable,
    DrawingRenderer,
    ExplainedRenderer,
    Renderer,
    StyledRenderer,
    hint_of,
)
from miai.testing.agent_checks import random_action

DRAWN = (1, 11)  # plies, beside the last
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "kuhn_poker-jack": ("kuhn_poker", {}),
    "openspiel-connect_four": ("openspiel:connect_four", {}),
    "openspiel-coop_box_pushing": ("openspiel:coop_box_pushing", {"horizon": 4}),
    "openspiel-kuhn_poker": ("openspiel:kuhn_poker", {}),
    "rbc-end": ("rbc", {"fen": "4k3/8/8/8/8/8/4Q3/4K3 w - - 0 1"}),
}
CHOSEN = {
    "kuhn_poker-jack": "J K pass bet bet",
    "phantom_tic_tac_toe": "b2 b2 a3 c1 b3",
    "mini_rbc-4-2-True": "@d4a3 sense_a3 Ra4 kd3 sense_c3",
    "rbc": "sense_- e2e4 sense_- e7e5 sense_f7 f1a6 sense_b5 pass sense_- a6c8 sense_- c8b7 "
    "sense_e6 e4e5",  # cut short, with a capture; a loss; refused
    "rbc-end": "sense_d8 e2e8",
}
"""The first actions of some games; others are drawn by lot."""


def said_by_state(state: State) -> Iterator[str]:
    actions = [f"{a}={state.action_to_string(a)}" for a in state.legal_actions()]
    yield f"{state}\nkey {state.key()!r}\nto act {state.current_player()}: {' '.join(actions)}"
    if state.is_chance_node():
        yield f"chance {state.chance_outcomes()}"
    yield f"returns {state.returns()} {state.truncated_returns()} {state.result_to_string()}"
    for player in range(state.game.num_players()):
        yield f"player {player}: {state.observation(player)} {state.legal_actions_of(player)}"
        yield repr(state.information_state_string(player))
        with contextlib.suppress(NotImplementedError):
            tensor = state.observation_tensor(player)
            yield f"{ ({int(i): round(float(tensor.flat[i]), 4) for i in np.flatnonzero(tensor)}) }"


def shown_to_player(renderer: Renderer, view: PlayerView, state: State) -> Iterator[str]:
    yield f"seen by {view.player}:\n{renderer.render(view)}\n{hint_of(renderer, view)}"
    if isinstance(renderer, AnnouncingRenderer):
        yield renderer.news(view)
    if isinstance(renderer, StyledRenderer):
        yield renderer.styled(view).markup
    if isinstance(renderer, DrawingRenderer):
        yield renderer.svg(view)
    if isinstance(renderer, Clickable):
        yield repr(renderer.clicks(view))
    if isinstance(renderer, BeliefDrawingRenderer):
        belief = BeliefFollower(view.game, view.player, limit=2000)
        for observation in view.observations:
            belief.observe(observation)
        yield str(belief.worlds(renderer, view, state))


def playthrough(name: str, parameters: dict[str, Any], chosen: list[str]) -> Iterator[str]:
    game, rng = load(name, **parameters), random.Random(5)
    renderer, state = renderer_for(game), game.new_initial_state()
    views = [PlayerView(game, player) for player in range(game.num_players())]
    yield f"{game.info}"
    with contextlib.suppress(NotImplementedError):
        yield f"tensor {game.observation_tensor_shape()}"
    if isinstance(renderer, DrawingRenderer):
        yield renderer.svg_definitions()
    if isinstance(renderer, ExplainedRenderer):
        yield "\n".join(map(str, renderer.legend()))
    for ply in range(15):
        for view in views:
            if (observation := state.observation(view.player)) is not None:
                view.observe(observation)
        yield f"# {ply}"
        yield from said_by_state(state)
        if (ends := state.is_terminal() or ply == 14) or ply in DRAWN:
            for view in views:
                yield from shown_to_player(renderer, view, state)
            if isinstance(renderer, DrawingRenderer):
                yield renderer.svg_state(state)
        if ends:
            return
        action = random_action(state, rng)
        state.apply_action(state.string_to_action(chosen[ply]) if ply < len(chosen) else action)


@pytest.mark.parametrize(("name", "parameters"), [*VARIANTS, *MORE.values()], ids=[*IDS, *MORE])
def test_a_game_tells_and_draws_what_was_read(
    name: str, parameters: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    kind = request.node.callspec.id
    chosen = CHOSEN.get(kind, "").split()
    parts = playthrough(name, parameters, [word.replace("_", " ") for word in chosen])
    text = "\n".join(parts).replace("><", ">\n<") + "\n"
    assert_expected(f"playthroughs/{kind}.txt", text)


def test_parameters_have_the_defaults_and_bounds_that_were_read() -> None:
    """Those of OpenSpiel's games are its own."""
    pytest.importorskip("torch")  # some are read from modules that need it
    lines = []
    for kind, components in ((k, registry().components(k)) for k in registry().kinds):
        for component in components:
            if component.plugin not in ("openspiel", "hostile", "mischief"):
                where = f"{kind} {component.name} {component.game or ''}".strip()
                rows = describe_parameters(component.load_parameters())
                lines += [f"{where} {row}" for row in rows]
    assert_expected("playthroughs/parameters.txt", "".join(f"{line}\n" for line in lines))
