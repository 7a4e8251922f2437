"""The plugin's entry point. It names components by import path, so it imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from miai.plugins.hooks import hookimpl
from miai_go.kinds import KINDS

if TYPE_CHECKING:
    import typer

    from miai.plugins.registry import Registry

_RULES: Final = "miai_go.rules.game_parameters"
_GTP: Final = "miai_go.gtp.engine_parameters"
_SEARCH: Final = "miai_go.search.player_parameters"
_NETS: Final = "miai_go.nets.network_parameters"
_TSUMEGO: Final = "miai_go.tsumego.components"
_AGREEMENT: Final = "miai.playing.agreement"

_FOR_ANY_GAME: Final = ("game", "config-file", "web-section")
_COMPONENTS: Final = (
    # kind, name, factory in miai_go, parameters, summary
    *(
        (
            *("config-file", f"go-{name}", f"learning.training.config_files:{function}", ""),
            f"Config of {what}",
        )
        for name, function, what in (
            ("sl", "supervised", "`miai go train sl`"),
            ("rollout", "rollout", "`miai go train rollout`"),
            ("rl", "policy_gradient", "`miai go train rl`"),
            ("value", "value", "`miai go train value`"),
            ("zero", "zero", "`miai go train zero`"),
        )
    ),
    (
        *("config-file", "go-tsumego", "tsumego.components:config_file", ""),
        "Config of `miai go tsumego train`",
    ),
    (
        *("game", "go", "rules.game:GoGame", f"{_RULES}:GoParameters"),
        "Go on boards of size 1 to 25, by Tromp-Taylor, Chinese, Japanese or AGA rules",
    ),
    (
        *("agent", "fast-random", "rules.agents:FastRandomAgent", ""),
        "Random moves that do not fill own eyes",
    ),
    (
        *("agent", "gtp", "gtp.agent:GtpAgent", f"{_GTP}:GtpParameters"),
        "External engine that speaks the Go Text Protocol (GTP)",
    ),
    (
        *("search", "mcts", "search.mcts:GoMcts", f"{_SEARCH}:GoMctsParameters"),
        "Compiled Monte Carlo tree search: UCT with RAVE and playouts",
    ),
    (
        *("evaluator", "random-rollout", "rules.agents:GoRollouts"),
        *(f"{_RULES}:GoRolloutParameters", "Mean result of compiled light playouts"),
    ),
    (
        *("search", "policy", "search.neural:PolicyPlayer", f"{_SEARCH}:PolicyParameters"),
        "Policy network without a search",
    ),
    (
        *("search", "alphago", "search.neural:AlphaGo", f"{_SEARCH}:AlphaGoParameters"),
        "Tree search with a policy network and a value network, with or without rollouts",
    ),
    (
        *("search", "alphazero", "search.neural:AlphaZero", f"{_SEARCH}:AlphaZeroParameters"),
        "Tree search with one network for policy and value: PUCT or Gumbel",
    ),
    ("go.dead-stones", "none", "rules.dead_stones:NoDeadStones", "", "Every stone is alive"),
    (
        *("go.dead-stones", "playouts", "rules.dead_stones:PlayoutJudge"),
        *(f"{_RULES}:PlayoutJudgeParameters", "A chain is dead if it is lost in most playouts"),
    ),
    (
        *("go.dead-stones", "network", "nets.dead_stones:NetworkJudge"),
        *(
            f"{_NETS}:NetworkJudgeParameters",
            "A chain is dead if a network and playouts expect it to be lost",
        ),
    ),
    (
        *("go.dead-stones", "gtp", "gtp.agent:GtpJudge", f"{_GTP}:GtpEngineParameters"),
        "An engine such as GNU Go lists the dead stones (final_status_list)",
    ),
    (
        *("adjudicator", "score-lead", "rules.adjudicators:ScoreLead"),
        f"{_RULES}:ScoreLeadParameters",
        "Win for a player who leads in playouts for several plies (an estimate)",
    ),
    (
        *("adjudicator", "unconditional-life", "rules.adjudicators:UnconditionalLife", ""),
        "Win for a player who wins even by passing: unconditional life (a proof)",
    ),
    (
        *("adjudicator", "draw-agreement", "rules.adjudicators:draw_agreement"),
        f"{_AGREEMENT}:DrawAgreementParameters",
        "Draw when both players consider the game even for several moves (whole komi)",
    ),
    (
        *("record-format", "sgf", "sgf.writing:SgfRecords", ""),
        "Smart Game Format: moves, rules, result, clock, statistics as comments",
    ),
    (
        *("opening-reader", "sgf", "sgf.reading:SgfOpenings", f"{_RULES}:SgfOpeningParameters"),
        "Openings from SGF: main lines, or every variation",
    ),
    (
        *("web-section", "problems", "tsumego.pages.trainer:Trainer", ""),
        "Problems of life and death to solve",
    ),
    ("opponents", "go", "search.opponents:opponents", "", "Opponents for people, weakest first"),
    (
        *("renderer", "go", "rules.render:GoRenderer", ""),
        "Board with coordinates, star points and the last move marked",
    ),
    (
        *("go.encoder", "alphago"),
        *("nets.encoders:AlphaGoEncoder", f"{_NETS}:AlphaGoEncoderParameters"),
        "AlphaGo's 48 planes, ladders included",
    ),
    (
        *("go.encoder", "zero", "nets.encoders:ZeroEncoder", f"{_NETS}:ZeroEncoderParameters"),
        "AlphaGo Zero's planes: stones of the last positions, colour to play",
    ),
    (
        *("go.network", "tower", "nets.networks:Tower", f"{_NETS}:TowerParameters"),
        "Residual tower; base, policy and value heads by name, ownership and score on request",
    ),
    (
        *("go.base", "residual", "nets.networks:ResidualBase", ""),
        "Residual blocks of two convolutions, with global pooling on request",
    ),
    (
        *("go.policy-head", "convolution", "nets.networks:ConvolutionPolicy"),
        *(f"{_NETS}:ConvolutionPolicyParameters", "Points by convolution, the pass by pooling"),
    ),
    ("go.policy-head", "none", "nets.networks:no_head", "", "No policy head"),
    (
        *("go.value-head", "dense", "nets.networks:DenseValue", f"{_NETS}:DenseValueParameters"),
        "From all points through a hidden layer, as in AlphaGo Zero",
    ),
    (
        *("go.value-head", "pooled", "nets.networks:PooledValue", f"{_NETS}:PooledValueParameters"),
        "From means and maxima over the board, as in KataGo",
    ),
    ("go.value-head", "none", "nets.networks:no_head", "", "No value head"),
    ("go.adviser", "none", "search.advice:no_adviser", "", "No advice"),
    (
        *("go.adviser", "solver", "tsumego.adviser:solver_adviser"),
        *(f"{_TSUMEGO}:SolverAdviserParameters", "Proofs about enclosed groups"),
    ),
    (
        *("go.adviser", "network", "tsumego.adviser:network_adviser", ""),
        "Guesses about enclosed groups",
    ),
)


@hookimpl
def miai_register(registry: Registry) -> None:
    """Register the game of Go and its components."""
    for declared in KINDS:
        registry.declare(declared)
    for kind, name, factory, parameters, summary in _COMPONENTS:
        registry.add(
            kind,
            name,
            f"miai_go.{factory}",
            parameters=parameters or None,
            summary=summary,
            game=None if kind in _FOR_ANY_GAME or "." in kind else "go",
        )


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add ``miai go`` and ``miai gtp``."""
    from miai_go import commands
    from miai_go.tsumego import commands as tsumego_commands

    tsumego_commands.add_commands(commands.add_commands(app))
