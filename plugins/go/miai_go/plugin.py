"""The plugin's entry point. It names components by import path, so it imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from miai.plugins.hooks import hookimpl
from miai_go.kinds import KINDS

if TYPE_CHECKING:
    import typer

    from miai.plugins.registry import Registry

_COMPONENTS: Final = """
miai_go.learning.training.config_files
  config-file go-sl supervised
    Config of `miai go train sl`
  config-file go-rollout rollout
    Config of `miai go train rollout`
  config-file go-rl policy_gradient
    Config of `miai go train rl`
  config-file go-value value
    Config of `miai go train value`
  config-file go-zero zero
    Config of `miai go train zero`
miai_go.tsumego.components
  config-file go-tsumego config_file
    Config of `miai go tsumego train`
miai_go.rules.game miai_go.rules.game_parameters
  game go GoGame GoParameters
    Go on boards of size 1 to 25, by Tromp-Taylor, Chinese, Japanese or AGA rules
miai_go.rules.agents miai_go.rules.game_parameters
  evaluator random-rollout GoRollouts GoRolloutParameters game=go
    Mean result of compiled light playouts
  agent fast-random FastRandomAgent game=go
    Random moves that do not fill own eyes
miai_go.gtp.agent miai_go.gtp.engine_parameters
  agent gtp GtpAgent GtpParameters game=go foreign
    External engine that speaks the Go Text Protocol (GTP)
  go.dead-stones gtp GtpJudge GtpEngineParameters
    An engine such as GNU Go lists the dead stones (final_status_list)
miai_go.search.mcts miai_go.search.player_parameters
  search mcts GoMcts GoMctsParameters game=go
    Compiled Monte Carlo tree search: UCT with RAVE and playouts
miai_go.search.neural miai_go.search.player_parameters
  search policy PolicyPlayer PolicyParameters game=go
    Policy network without a search
  search alphago AlphaGo AlphaGoParameters game=go
    Tree search with a policy network and a value network, with or without rollouts
  search alphazero AlphaZero AlphaZeroParameters game=go
    Tree search with one network for policy and value: PUCT or Gumbel
miai_go.rules.dead_stones miai_go.rules.game_parameters
  go.dead-stones playouts PlayoutJudge PlayoutJudgeParameters
    A chain is dead if it is lost in most playouts
  go.dead-stones none NoDeadStones
    Every stone is alive
miai_go.nets.dead_stones miai_go.nets.network_parameters
  go.dead-stones network NetworkJudge NetworkJudgeParameters
    A chain is dead if a network and playouts expect it to be lost
miai_go.rules.adjudicators miai_go.rules.game_parameters
  adjudicator score-lead ScoreLead ScoreLeadParameters game=go
    Win for a player who leads in playouts for several plies (an estimate)
  adjudicator unconditional-life UnconditionalLife game=go
    Win for a player who wins even by passing: unconditional life (a proof)
miai_go.rules.adjudicators miai.playing.agreement
  adjudicator draw-agreement draw_agreement DrawAgreementParameters game=go
    Draw when both players consider the game even for several moves (whole komi)
miai_go.sgf.writing
  record-format sgf SgfRecords game=go
    Smart Game Format: moves, rules, result, clock, statistics as comments
miai_go.sgf.reading miai_go.rules.game_parameters
  opening-reader sgf SgfOpenings SgfOpeningParameters game=go
    Openings from SGF: main lines, or every variation
miai_go.tsumego.pages.trainer
  web-section problems Trainer
    Problems of life and death to solve
miai_go.search.opponents
  opponents go opponents game=go
    Opponents for people, weakest first
miai_go.rules.render
  renderer go GoRenderer game=go
    Board with coordinates, star points and the last move marked
miai_go.nets.encoders miai_go.nets.network_parameters
  go.encoder alphago AlphaGoEncoder AlphaGoEncoderParameters
    AlphaGo's 48 planes, ladders included
  go.encoder zero ZeroEncoder ZeroEncoderParameters
    AlphaGo Zero's planes: stones of the last positions, colour to play
miai_go.nets.networks miai_go.nets.network_parameters
  go.network tower Tower TowerParameters
    Residual tower; base, policy and value heads by name, ownership and score on request
  go.policy-head convolution ConvolutionPolicy ConvolutionPolicyParameters
    Points by convolution, the pass by pooling
  go.value-head dense DenseValue DenseValueParameters
    From all points through a hidden layer, as in AlphaGo Zero
  go.value-head pooled PooledValue PooledValueParameters
    From means and maxima over the board, as in KataGo
  go.base residual ResidualBase
    Residual blocks of two convolutions, with global pooling on request
  go.policy-head none no_head
    No policy head
  go.value-head none no_head
    No value head
miai_go.search.advice
  go.adviser none no_adviser
    No advice
miai_go.tsumego.adviser miai_go.tsumego.components
  go.adviser solver solver_adviser SolverAdviserParameters
    Proofs about enclosed groups
  go.adviser network network_adviser
    Guesses about enclosed groups
"""


@hookimpl
def miai_register(registry: Registry) -> None:
    """Register the game of Go and its components."""
    for declared in KINDS:
        registry.declare(declared)
    registry.add_all(_COMPONENTS)


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add ``miai go`` and ``miai gtp``."""
    from miai_go import commands
    from miai_go.tsumego import commands as tsumego_commands

    tsumego_commands.add_commands(commands.add_commands(app))
