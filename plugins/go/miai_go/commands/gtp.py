"""``miai gtp``: any agent of Go as an engine for GUIs, bridges and referees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer


def add_command(app: typer.Typer) -> None:
    """Add the command to the command line."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("gtp", context_settings=settings)(gtp)


def gtp(
    context: typer.Context,
    agent: Annotated[str, typer.Option(metavar="NAME", help="Agent that plays.")] = "mcts",
    boardsize: Annotated[int, typer.Option(help="Board size to begin with.")] = 9,
    rules: Annotated[str, typer.Option(help="Rules to begin with.")] = "chinese",
    komi: Annotated[
        float | None, typer.Option(help="Komi to begin with (default: that of the rules).")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the game (repeatable)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the agent's randomness.")] = 0,
) -> None:
    """Play Go for a controller that speaks the Go Text Protocol, on standard input and output.

    The agent's parameters are options, too: `miai gtp --agent mcts --simulations 5000`.
    """
    from miai.plain import parse_assignment
    from miai_go.gtp.standard_io import serve

    own = [option for parameter in context.command.params for option in parameter.opts]
    values = _agent_values(context.args, agent, own)
    game = {"board_size": boardsize, "rules": rules, "komi": komi}
    game |= dict(parse_assignment(text) for text in settings or [])
    serve(agent, values, game, seed=seed)


def _agent_values(words: Sequence[str], agent: str, own: Sequence[str]) -> dict[str, Any]:
    """Return the agent's parameters among the words of the command line.

    Raises:
      ConfigError: a word is not an option, or an option is unknown or has no value.
    """
    from miai.errors import ConfigError, near_matches
    from miai.parameters import set_parameter
    from miai.plain import parse_value
    from miai.plugins.loader import registry

    model = registry().get("agent", agent, game="go").load_parameters()
    moved = [old for base in model.__mro__ for old in vars(base).get("moved", ())]
    values: dict[str, Any] = {}
    remaining = list(words)
    while remaining:
        option, equals, text = remaining.pop(0).partition("=")
        name = option.removeprefix("--").replace("-", "_")
        if not option.startswith("--"):
            raise ConfigError(f"'{option}' is not an option; parameters are written --name value")
        # The model says what became of names that it had.
        if name.partition(".")[0] not in {*model.model_fields, *moved}:
            options = [*own, *(f"--{field.replace('_', '-')}" for field in model.model_fields)]
            raise ConfigError(
                f"unknown option '{option}' of agent '{agent}'. {near_matches(option, options)}"
            )
        if not equals:
            if not remaining or remaining[0].startswith("--"):
                raise ConfigError(f"option '{option}' needs a value")
            text = remaining.pop(0)
        set_parameter(values, name, parse_value(text), where="--")
    return values
