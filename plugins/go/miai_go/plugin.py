"""The plugin's entry point. It names components by import path, so it imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl
from miai_go.kinds import KINDS

if TYPE_CHECKING:
    import typer

    from miai.plugins.registry import Registry


@hookimpl
def miai_register(registry: Registry) -> None:
    """Register the game of Go and its components."""
    for kind in KINDS:
        registry.declare(kind)
    registry.add(
        "game",
        "go",
        "miai_go.rules.game:GoGame",
        parameters="miai_go.rules.parameters:GoParameters",
        summary="Go on boards of size 1 to 25, by Tromp-Taylor, Chinese, Japanese or AGA rules",
    )
    _add_players(registry)
    _add_network_players(registry)
    _add_judges(registry)
    _add_adjudicators(registry)
    _add_files(registry)
    _add_learning(registry)


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add ``miai go`` and ``miai gtp``."""
    from miai_go.commands import add_commands

    add_commands(app)


def _add_players(registry: Registry) -> None:
    registry.add(
        "agent",
        "fast-random",
        "miai_go.rules.agents:FastRandomAgent",
        summary="Random moves that do not fill own eyes",
        game="go",
    )
    registry.add(
        "agent",
        "gtp",
        "miai_go.gtp.agent:GtpAgent",
        parameters="miai_go.gtp.parameters:GtpParameters",
        summary="External engine that speaks the Go Text Protocol (GTP)",
        game="go",
    )
    registry.add(
        "search",
        "mcts",
        "miai_go.search.mcts:GoMcts",
        parameters="miai_go.search.parameters:GoMctsParameters",
        summary="Compiled Monte Carlo tree search: UCT with RAVE and playouts",
        game="go",
    )
    registry.add(
        "evaluator",
        "random-rollout",
        "miai_go.rules.agents:GoRollouts",
        parameters="miai_go.rules.parameters:GoRolloutParameters",
        summary="Mean result of compiled light playouts",
        game="go",
    )


def _add_network_players(registry: Registry) -> None:
    parameters = "miai_go.search.parameters"
    registry.add(
        "search",
        "policy",
        "miai_go.search.policy:PolicyPlayer",
        parameters=f"{parameters}:PolicyParameters",
        summary="Policy network without a search",
        game="go",
    )
    registry.add(
        "search",
        "alphago",
        "miai_go.search.neural:AlphaGo",
        parameters=f"{parameters}:AlphaGoParameters",
        summary="Tree search with a policy network, a value network and rollouts",
        game="go",
    )
    registry.add(
        "search",
        "alphazero",
        "miai_go.search.neural:AlphaZero",
        parameters=f"{parameters}:AlphaZeroParameters",
        summary="Tree search with one network for policy and value: PUCT or Gumbel",
        game="go",
    )


def _add_judges(registry: Registry) -> None:
    registry.add(
        "go.dead-stones",
        "none",
        "miai_go.rules.dead_stones:NoDeadStones",
        summary="Every stone is alive",
    )
    registry.add(
        "go.dead-stones",
        "playouts",
        "miai_go.rules.dead_stones:PlayoutJudge",
        parameters="miai_go.rules.parameters:PlayoutJudgeParameters",
        summary="A chain is dead if it is lost in most playouts",
    )
    registry.add(
        "go.dead-stones",
        "gtp",
        "miai_go.gtp.agent:GtpJudge",
        parameters="miai_go.gtp.parameters:GtpEngineParameters",
        summary="An engine such as GNU Go lists the dead stones (final_status_list)",
    )


def _add_adjudicators(registry: Registry) -> None:
    registry.add(
        "adjudicator",
        "score-lead",
        "miai_go.rules.adjudicators:ScoreLead",
        parameters="miai_go.rules.parameters:ScoreLeadParameters",
        summary="Win for a player who leads in playouts for several plies (an estimate)",
        game="go",
    )
    registry.add(
        "adjudicator",
        "unconditional-life",
        "miai_go.rules.adjudicators:UnconditionalLife",
        summary="Win for a player who wins even by passing: unconditional life (a proof)",
        game="go",
    )
    registry.add(
        "adjudicator",
        "draw-agreement",
        "miai_go.rules.adjudicators:draw_agreement",
        parameters="miai.playing.agreement:DrawAgreementParameters",
        summary="Draw when both players consider the game even for several moves (whole komi)",
        game="go",
    )


def _add_files(registry: Registry) -> None:
    registry.add(
        "record-format",
        "sgf",
        "miai_go.sgf.writing:SgfRecords",
        summary="Smart Game Format: moves, rules, result, clock, statistics as comments",
        game="go",
    )
    registry.add(
        "opening-reader",
        "sgf",
        "miai_go.sgf.reading:SgfOpenings",
        parameters="miai_go.rules.parameters:SgfOpeningParameters",
        summary="Openings from SGF: main lines, or every variation",
        game="go",
    )
    registry.add(
        "renderer",
        "go",
        "miai_go.rules.render:GoRenderer",
        summary="Board with coordinates, star points and the last move marked",
        game="go",
    )


def _add_learning(registry: Registry) -> None:
    from miai_go.nets import registration

    registration.register_encoders(registry)
    registration.register(registry)
    registration.register_life_networks(registry)
