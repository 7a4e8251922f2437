"""The live pages' templates, and the policy under which browsers show them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from starlette.responses import HTMLResponse, Response

from miai.pages.layout import environment, linked

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src-elem 'self'",
        "style-src-attr 'unsafe-inline'",  # the pieces of some games' pictures
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""The Content-Security-Policy: no script but the server's own files, nothing from elsewhere."""


def page(
    template: str, *, status: int = 200, scripts: Sequence[str] = (), **values: Any
) -> Response:
    """Return a page made from a template, with scripts of the folder ``assets`` by name."""
    assets = linked(
        styles=["/assets/page.css", "/assets/web.css"],
        scripts=[f"/assets/{name}" for name in scripts],
    )
    made = environment("miai.web").get_template(template)
    return HTMLResponse(made.render(assets=assets, **values), status)


@cache
def asset(name: str) -> bytes | None:
    """Return a style sheet or script by name; None if there is none."""
    for package in ("miai.web", "miai.pages"):
        folder = resources.files(package) / "assets"
        if name in {file.name for file in folder.iterdir()}:
            return (folder / name).read_bytes()
    return None
