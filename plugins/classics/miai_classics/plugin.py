"""The plugin's entry point: it names the games, and imports none of them."""

from __future__ import annotations

from miai import hookimpl
from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the games and their renderers."""
    registry.add(
        "game",
        "tic_tac_toe",
        "miai_classics.tic_tac_toe:TicTacToe",
        summary="Three in a row; perfect information, a draw",
    )
    registry.add_all(_OTHERS)


_OTHERS = """
miai_classics.phantom_tic_tac_toe
  game phantom_tic_tac_toe PhantomTicTacToe
    Tic-tac-toe with hidden moves; only the mover sees a refusal
miai_classics.kuhn_poker
  game kuhn_poker KuhnPoker
    Poker with three cards; chance nodes, worth -1/18 to the first player
miai_classics.pig
  game pig Pig PigParameters
    A race of dice for two to six players; who holds in time?
miai_classics.matrix_games
  game matching_pennies MatchingPennies RepeatedGameParameters
    Heads or tails, chosen at once; the best play is random
  game rock_paper_scissors RockPaperScissors RockPaperScissorsParameters
    Chosen at once, in rounds; a win with rock may count more
  game prisoners_dilemma PrisonersDilemma RepeatedGameParameters
    Cooperate or defect at once, in rounds, for points; not zero-sum
miai_classics.goofspiel
  game goofspiel Goofspiel GoofspielParameters
    All bid cards at once for prizes; 2 to 10 players, bids shown or hidden
miai_classics.choice_pictures
  renderer goofspiel GoofspielRenderer game=goofspiel
    The prize, the player's hand, and who won which prize
  renderer matching_pennies MatrixRenderer game=matching_pennies
    The last rounds, the points and the choices
  renderer rock_paper_scissors MatrixRenderer game=rock_paper_scissors
    The last rounds, the points and the choices
  renderer prisoners_dilemma MatrixRenderer game=prisoners_dilemma
    The last rounds, the points and the choices
miai_classics.render
  renderer tic_tac_toe TicTacToeRenderer game=tic_tac_toe
    The board, the last mark and three in a row
  renderer phantom_tic_tac_toe PhantomRenderer game=phantom_tic_tac_toe
    The board as far as the player knows it
  renderer kuhn_poker KuhnRenderer game=kuhn_poker
    The player's card, the betting and the pot
  renderer pig PigRenderer game=pig
    What the players have and what was rolled in this turn
"""
