"""The live pages' templates and assets, and the policy under which browsers show them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from miai.pages.layout import environment, linked
from miai.plugins.kinds import WEB_SECTION
from miai.plugins.loader import registry

TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
"""Media types of assets, by the end of their names."""

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
    template: str,
    *,
    package: str = "",
    owner: bool = True,
    status: int = 200,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    **values: Any,
) -> Response:
    """Return a page made from a template.

    Args:
      template: its name in the folder ``templates`` of this package, or of `package`.
      package: of a plugin's section; its templates can extend ``live.html``.
      owner: whether the reader may see the server's other pages.
      styles, scripts: names in the folder ``assets``, or addresses that begin with a slash.
    """
    # No inline script or style is allowed, so that what slips through the escaping cannot run.
    links = linked(
        styles=["/assets/page.css", "/assets/web.css", *map(_address, styles)],
        scripts=[_address(name) for name in scripts],
    )
    packages = [package] if package else []
    made = environment(*packages, "miai.web").get_template(template)
    sections = [component.name for component in registry().components(WEB_SECTION)] if owner else []
    content = made.render(assets=links, owner=owner, sections=sections, **values)
    return HTMLResponse(content, status)


def _address(name: str) -> str:
    return name if name.startswith("/") else f"/assets/{name}"


@cache
def asset(name: str, *packages: str) -> bytes | None:
    """Return a style sheet or script by name; None if there is none.

    Args:
      packages: where to look, in their folders ``assets``.
    """
    for package in packages:
        folder = resources.files(package) / "assets"
        if name in {file.name for file in folder.iterdir()}:
            return (folder / name).read_bytes()
    return None


def assets(*packages: str) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a route ``/assets/{name}`` from the folders ``assets`` of packages."""

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        content = asset(name, *packages)
        if content is None:
            raise HTTPException(404)
        kind = TYPES.get(name.rpartition(".")[2], "application/octet-stream")
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    return answer
