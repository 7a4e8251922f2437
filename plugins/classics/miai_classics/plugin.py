"""The plugin's entry point: it names the games, and imports none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the games and their renderers."""
    registry.add(
        "game",
        "tic_tac_toe",
        "miai_classics.tic_tac_toe:TicTacToe",
        parameters="miai_classics.tic_tac_toe:TicTacToeParameters",
        summary="Three in a row; perfect information, a draw",
    )
    registry.add(
        "game",
        "phantom_tic_tac_toe",
        "miai_classics.phantom_tic_tac_toe:PhantomTicTacToe",
        parameters="miai_classics.tic_tac_toe:TicTacToeParameters",
        summary="Tic-tac-toe with hidden moves; only the mover sees a refusal",
    )
    registry.add(
        "game",
        "kuhn_poker",
        "miai_classics.kuhn_poker:KuhnPoker",
        parameters="miai_classics.kuhn_poker:KuhnPokerParameters",
        summary="Poker with three cards; chance nodes, worth -1/18 to the first player",
    )
    registry.add(
        "game",
        "pig",
        "miai_classics.pig:Pig",
        parameters="miai_classics.pig:PigParameters",
        summary="A race of dice for two to six players; who holds in time?",
    )
    registry.add(
        "game",
        "matching_pennies",
        "miai_classics.matrix_games:MatchingPennies",
        parameters="miai_classics.matrix_games:RoundsParameters",
        summary="Heads or tails, chosen at once; the best play is random",
    )
    registry.add(
        "game",
        "rock_paper_scissors",
        "miai_classics.matrix_games:RockPaperScissors",
        parameters="miai_classics.matrix_games:RockPaperScissorsParameters",
        summary="Chosen at once, in rounds; a win with rock may count more",
    )
    registry.add(
        "game",
        "prisoners_dilemma",
        "miai_classics.matrix_games:PrisonersDilemma",
        parameters="miai_classics.matrix_games:RoundsParameters",
        summary="Cooperate or defect at once, in rounds, for points; not zero-sum",
    )
    registry.add(
        "game",
        "goofspiel",
        "miai_classics.goofspiel:Goofspiel",
        parameters="miai_classics.goofspiel:GoofspielParameters",
        summary="All bid cards at once for prizes; 2 to 10 players, bids shown or hidden",
    )
    registry.add(
        "renderer",
        "goofspiel",
        "miai_classics.choice_pictures:GoofspielRenderer",
        summary="The prize, the player's hand, and who won which prize",
        game="goofspiel",
    )
    for name in ("matching_pennies", "rock_paper_scissors", "prisoners_dilemma"):
        registry.add(
            "renderer",
            name,
            "miai_classics.choice_pictures:MatrixRenderer",
            summary="The last rounds, the points and the choices",
            game=name,
        )
    registry.add(
        "renderer",
        "tic_tac_toe",
        "miai_classics.render:TicTacToeRenderer",
        summary="The board, the last mark and three in a row",
        game="tic_tac_toe",
    )
    registry.add(
        "renderer",
        "phantom_tic_tac_toe",
        "miai_classics.render:PhantomRenderer",
        summary="The board as far as the player knows it",
        game="phantom_tic_tac_toe",
    )
    registry.add(
        "renderer",
        "kuhn_poker",
        "miai_classics.render:KuhnRenderer",
        summary="The player's card, the betting and the pot",
        game="kuhn_poker",
    )
    registry.add(
        "renderer",
        "pig",
        "miai_classics.render:PigRenderer",
        summary="What the players have and what was rolled in this turn",
        game="pig",
    )
