"""``miai web``: the server of pages for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("web")(web)


def web(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Folders of tournaments and comparisons to show, running or finished.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8642,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on, so that other machines reach the server; needs --token.",
        ),
    ] = "",
    token: Annotated[
        str, typer.Option(help="Secret that lets a browser in (default: a random one).")
    ] = "",
    games: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            file_okay=False,
            help="Where games are kept (default: miai/web in the user's data folder).",
        ),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
) -> None:
    """Play in the browser, and watch runs.

    Any installed game is played against any agent or another person.

    The server listens on this machine only, and prints the address to open. Games are stored as
    they are played, and go on after a restart.
    """
    from miai.files import user_data
    from miai.plugins.extras import missing_extra

    try:
        from miai.web.server import serve
    except ImportError as error:
        missing = missing_extra(error, "miai", "miai web")
        if missing is None:
            raise
        raise missing from error
    serve(
        games or user_data() / "web",
        host=host,
        port=port,
        token=token,
        open_browser=open_browser,
        paths=paths or (),
    )
