"""``miai web``: the server of pages for the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from miai.errors import ConfigError
from miai.files import reading

RunFolders = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RUN]...",
        help="Folders of tournaments and comparisons to show, running or finished.",
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")]
Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Address to listen on, so that other machines reach the server; needs a token.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Secret that lets a browser in (default: MIAI_WEB_TOKEN, or a random one).",
    ),
]
AllowPrograms = Annotated[
    bool,
    typer.Option("--allow-programs", help="Let forms name programs and files; not with --host."),
]
GamesFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        file_okay=False,
        help="Where games are kept (default: miai/web in the user's data folder).",
    ),
]
OpenBrowser = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]


def add_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("web")(web)


def web(
    paths: RunFolders = None,
    port: Port = 8642,
    host: Host = "",
    token_file: TokenFile = None,
    programs: AllowPrograms = False,
    games: GamesFolder = None,
    open_browser: OpenBrowser = False,
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
        raise missing_extra(error, "miai", "miai web") or error from None
    # Agents inherit the environment, and must not enter.
    token = os.environ.pop("MIAI_WEB_TOKEN", None)
    if token_file is not None:
        with reading(token_file, ConfigError), token_file.open(errors="replace") as file:
            token = file.read(1000).strip()
    serve(
        games or user_data() / "web",
        host=host,
        port=port,
        token=token,
        open_browser=open_browser,
        paths=paths or (),
        programs=programs,
    )
