"""Pages from templates, with their styles and scripts written into them or linked.

A page on disk is one file that needs no network: its styles and scripts are part of it, and its
policy (Content-Security-Policy) allows only these, by their digests, and embedded pictures. A
server's page links them, and the server sends its policy as a header. In both cases what slipped
through the escaping could neither run nor fetch nor send.

The pages' skeletons are Jinja2 templates that extend ``base.html``; its blocks are ``title``,
``head``, ``header``, ``main``, ``footer`` and ``scripts``. Fragments such as tables and pictures
are made by calls of `miai.markup.tag`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from miai.markup import tag
from miai.pages.document import printable


def text(foreign: str, limit: int = 200) -> str:
    """Return a text of foreign origin as one harmless line of at most `limit` terminal cells."""
    return printable(foreign, limit) if foreign else ""


def name(foreign: str, limit: int = 40) -> Markup:
    """Return a foreign name, isolated from the text direction around it."""
    return tag("bdi", text(foreign, limit))


@cache
def asset(file: str) -> Markup:
    """Return a style or script of the folder ``assets``."""
    return Markup((resources.files(__package__) / "assets" / file).read_text(encoding="utf-8"))  # noqa: S704 - a file of this package


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """Styles and scripts of a page, as `inlined` and `linked` return them.

    Attributes:
      style, script: their content, if it is part of the page.
      policy: the page's Content-Security-Policy; empty if a server sends it.
      stylesheets, sources: addresses of linked styles and scripts.
    """

    style: Markup = field(default_factory=Markup)
    script: Markup = field(default_factory=Markup)
    policy: str = ""
    stylesheets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def inlined(*, styles: Sequence[str], scripts: Sequence[str]) -> Assets:
    """Return files of the folder ``assets`` as parts of a page, which allows nothing else."""
    style = Markup("\n").join(map(asset, styles))
    script = Markup("\n").join(map(asset, scripts))
    return Assets(style=style, script=script, policy=_policy(style, script))


def linked(*, styles: Sequence[str], scripts: Sequence[str]) -> Assets:
    """Return addresses of styles and scripts for a page from a server."""
    return Assets(stylesheets=tuple(styles), sources=tuple(scripts))


@cache
def environment(*packages: str) -> Environment:
    """Return the environment of the templates.

    Its filters `text` and `name` are the functions of this module. Undefined variables are errors.

    Args:
      packages: packages with folders ``templates`` of their own, searched first; their templates
        can extend ``base.html``.
    """
    loaders = [PackageLoader(package) for package in (*packages, __package__)]
    made = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(text=text, name=name)
    return made


def _policy(style: str, script: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            # By digests: a nonce would have to be new for every reader, and a file is the same for
            # all.
            f"style-src-elem {_digest(style)}",
            "style-src-attr 'unsafe-inline'",  # the pieces of some games' pictures
            f"script-src-elem {_digest(script)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
