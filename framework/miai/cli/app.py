"""The command line: the framework's commands and those of all plugins."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from miai import __version__
from miai.cli import analyze, listing, new, solve, warm, web
from miai.cli import play as playing
from miai.plugins.loader import PluginWarning, plugin_host


def run() -> None:
    """Run the command line of this process.

    Raises `KeyboardInterrupt` if interrupted, where typer by itself would exit the process, and
    `MiaiError` for what the user can correct.
    """
    try:
        build_app()(prog_name="miai")
    except _Interruption as interruption:
        raise interruption.cause from None


def build_app() -> typer.Typer:
    """Return the command line with the commands of all plugins."""
    _show_plugin_warnings_as_lines()
    app = typer.Typer(
        name="miai",
        cls=_Commands,
        help="Games, agents, searches and tournaments from plugins.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    listing.add_commands(app)
    playing.add_commands(app)
    analyze.add_commands(app)
    solve.add_commands(app)
    web.add_commands(app)
    warm.add_commands(app)
    new.add_commands(app)
    plugin_host().add_commands(app)
    return app


class _Interruption(BaseException):
    """Carries a `KeyboardInterrupt` past typer."""

    def __init__(self, cause: KeyboardInterrupt) -> None:
        super().__init__()
        self.cause = cause


class _Commands(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that words name; a kind of component is listed by another one."""
        kind = listing.singular_of(args[0], plugin_host().registry)
        if self.get_command(ctx, args[0]) is None and kind in plugin_host().registry.kinds:
            plural = listing.plural_of(kind)
            ctx.fail(f"No such command '{args[0]}'. Did you mean 'miai list {plural}'?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; pass a `KeyboardInterrupt` on unchanged."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            raise _Interruption(interruption) from None


def _print_version(version: bool) -> None:
    if version:
        print(f"miai {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and exit.",
        is_eager=True,
        callback=_print_version,
    ),
) -> None:
    """Declare the options before the command; their callbacks do the work."""


def _show_plugin_warnings_as_lines() -> None:
    default = warnings.showwarning

    def show(
        message: Warning | str, category: type[Warning], *place: object, **more: object
    ) -> None:
        if issubclass(category, PluginWarning):
            print(f"miai: warning: {message}", file=sys.stderr)
        else:
            default(message, category, *place, **more)  # type: ignore[arg-type]  # passed through

    warnings.showwarning = show
    warnings.simplefilter("always", PluginWarning)
