"""What notebooks show: a state is the truth, a view what its player was told."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from markupsafe import escape
from tests.framework.histories import state_after, view_of

import miai
from miai import PlayerView, State
from miai.pages.replay_page import replay_page


@pytest.mark.parametrize(
    ("name", "one", "other", "player"),
    [
        ("kuhn_poker", (4, 2), (4, 3), 0),  # other cards of the opponent
        ("phantom_tic_tac_toe", (4, 0), (4, 8), 0),  # another stone of the opponent
        ("goofspiel", (0, 2), (0, 3), 1),  # another card that is not yet turned over
    ],
)
def test_a_view_shows_no_more_than_its_player_knows(
    name: str, one: tuple[int, ...], other: tuple[int, ...], player: int
) -> None:
    game = miai.load_game(name)
    assert drawn(view_of(game, player, one)) == drawn(view_of(game, player, other))
    if name != "goofspiel":
        assert drawn(state_after(game, *one)) != drawn(state_after(game, *other))


def drawn(shown: State | PlayerView) -> str:
    """Return the one of the two that an object has."""
    svg, text = shown._repr_svg_(), shown._repr_html_()
    assert (svg is None) != (text is None)
    if svg is not None:
        ElementTree.fromstring(svg)
    return svg or text or ""


def test_a_record_and_a_report_are_whole_pages_in_a_frame_of_their_own() -> None:
    game = miai.load_game("tic_tac_toe")
    players = [miai.make_agent("random", game, seed=seed) for seed in (1, 2)]
    record = miai.play(game, players, seed=3)
    record.players[0].name = '"><script>alert(1)</script>'
    shown = record._repr_html_()
    assert shown is not None
    page = escape(replay_page(record, "tic_tac_toe", worlds=0))
    assert shown.startswith('<iframe sandbox="allow-scripts" ')
    assert shown.endswith(f' srcdoc="{page}"></iframe>')
    assert record._repr_svg_() is None
    record.game_version = 99
    assert "install the recorded version" in (record._repr_html_() or "")
