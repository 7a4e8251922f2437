"""Pages from templates: styles and scripts inside them or linked, and everything else escaped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Template, UndefinedError
from tests.tournaments.pages import read_page

from miai.pages.layout import asset, environment, inlined, linked

PAGE = """{% extends "base.html" %}
{% block title %}{{ title }}{% endblock %}
{% block main %}<main><p>{{ player | name }}</p></main>{% endblock %}
"""
FOREIGN = "</title></script><img src=x onerror=alert(1)>\u202e"


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Template]:
    """A template in another package, extending the pages' own."""
    package = tmp_path / "own_pages"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "templates" / "page.html").write_text(PAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield environment("own_pages").get_template("page.html")
    environment.cache_clear()
    del sys.modules["own_pages"]  # the next test has a package of this name elsewhere


def test_a_page_on_disk_carries_its_style_and_script(template: Template) -> None:
    assets = inlined(styles=("page.css", "replay.css"), scripts=("sort.js",))
    page = read_page(template.render(assets=assets, title=FOREIGN, player=FOREIGN))
    assert page.one("style").text() == asset("page.css") + "\n" + asset("replay.css")
    assert page.one("script").text() == asset("sort.js")
    assert page.one("title").text() == FOREIGN
    assert page.one("bdi").text() == FOREIGN.replace("\u202e", "?")[:39] + "\N{HORIZONTAL ELLIPSIS}"


def test_a_page_from_a_server_links_them(template: Template) -> None:
    assets = linked(styles=("/static/page.css",), scripts=("/static/a.js", "/static/b.js?v=1&w"))
    html = template.render(assets=assets, title="t", player="p")
    assert '<link rel="stylesheet" href="/static/page.css">' in html
    assert '<script src="/static/a.js" defer></script>' in html
    assert '<script src="/static/b.js?v=1&amp;w" defer></script>' in html
    assert "Content-Security-Policy" not in html
    assert "<style" not in html
    assert html.count("<script") == 2


def test_a_variable_that_is_missing_is_an_error(template: Template) -> None:
    with pytest.raises(UndefinedError, match="player"):
        template.render(assets=linked(styles=(), scripts=()), title="t")
