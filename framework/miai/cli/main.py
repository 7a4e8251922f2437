"""The command ``miai``.

Commands import what they need inside their functions, so that ``miai --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import NoReturn

import typer

from miai import __version__
from miai.errors import MiaiError
from miai.plugins.loader import PluginWarning, plugin_host

USER_ERROR = 2
"""Exit status for whatever the user can mend."""

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def main() -> NoReturn:
    """Run the command line; a `MiaiError` becomes one message and exit status 2."""
    _show_plugin_warnings_as_lines()
    try:
        build_app()()
    except MiaiError as error:
        print(f"miai: {error}", file=sys.stderr)
        sys.exit(USER_ERROR)
    except KeyboardInterrupt:
        print("miai: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`miai list agent | head`): not an error. Standard
        # output is replaced so that the interpreter does not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(0)


def build_app() -> typer.Typer:
    """Return the command line with the commands of all plugins."""
    app = typer.Typer(
        name="miai",
        help="Games, agents, searches and tournaments from plugins.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    from miai.cli import listing, playing

    listing.add_commands(app)
    playing.add_commands(app)
    host = plugin_host()
    host.add_commands(app)
    return app


def _options(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        print(f"miai {__version__}")
        raise typer.Exit


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


if __name__ == "__main__":
    main()
