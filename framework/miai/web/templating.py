"""The templates of the live pages, and the policy under which browsers show them."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Final

import jinja2
from starlette.responses import HTMLResponse, Response

from miai import __version__

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


@cache
def environment() -> jinja2.Environment:
    """Return the templates: every value is escaped, and a missing one is an error."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("miai.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = __version__
    return made


def page(template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page made from a template."""
    return HTMLResponse(environment().get_template(template).render(values), status)


@cache
def asset(name: str) -> bytes | None:
    """Return a style sheet or script by name; None if there is none."""
    for package in ("miai.web", "miai.pages"):
        folder = resources.files(package) / "assets"
        if any(file.name == name for file in folder.iterdir()):
            return (folder / name).read_bytes()
    return None
