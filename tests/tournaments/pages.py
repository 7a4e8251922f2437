"""A strict reader of the pages that miai writes: what it accepts is well formed and inert."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "input", "br", "hr", "col", "link", "!doctype"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    def all(self, tag: str = "", **wanted: str) -> Iterator[Node]:
        """Yield descendants of a tag with these attributes (underlines for hyphens)."""
        for child in self.children:
            if isinstance(child, Node):
                named = {key.replace("_", "-").rstrip("-"): v for key, v in wanted.items()}
                if tag in ("", child.tag) and named.items() <= child.attributes.items():
                    yield child
                yield from child.all(tag, **wanted)

    def one(self, tag: str = "", **wanted: str) -> Node:
        found = list(self.all(tag, **wanted))
        assert len(found) == 1, (tag, wanted, len(found))
        return found[0]

    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text() for c in self.children)


def elements_of(text: str) -> Node:
    """Return the tree of a piece of HTML after checking that it is balanced."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, [node.tag for node in reader.open]
    return reader.root


def positions_of(page: Node) -> list[Node]:
    """Return what a replay's script shows for each position: ``position`` and ``decision``.

    Checks the pieces as `read_page` checks the page.
    """
    packed = base64.b64decode(page.one("script", id="positions").text())
    document = json.loads(zlib.decompress(packed))
    identities = {node.attributes["id"] for node in page.all() if "id" in node.attributes}
    found = []
    for pieces, decision, _back in document["frames"]:
        position = elements_of("".join(document["pieces"][piece] for piece in pieces))
        said = elements_of(document["pieces"][decision])
        for part in (position, said):
            _check_inert(part, identities)
            assert not any("id" in node.attributes for node in part.all())
        position.tag, said.tag = "position", "decision"
        found.append(Node("", {}, [position, said]))
    return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, names)
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read_page(page: str | Path) -> Node:
    """Return a page's tree after checking that it is balanced, whole, inert and without network."""
    text = page.read_text(encoding="utf-8") if isinstance(page, Path) else page
    root = elements_of(text)
    _check_policy(root)
    identities = [node.attributes["id"] for node in root.all() if "id" in node.attributes]
    assert len(set(identities)) == len(identities)
    _check_inert(root, set(identities))
    return root


def scripts(root: Node) -> list[Node]:
    """Return the scripts that a browser runs."""
    return [node for node in root.all("script") if node.attributes.get("type") != "text/plain"]


def _check_inert(root: Node, identities: set[str]) -> None:
    for node in root.all():
        assert node.tag not in ("iframe", "object", "embed", "link", "base", "form", "img"), (
            node.tag
        )
        for name, value in node.attributes.items():
            assert not name.startswith("on"), (node.tag, name)
            if name in ("href", "src", "xlink:href", "action"):
                assert re.match(
                    r"#|data:application/octet-stream;base64,|[\w./~%+-]+\.html$", value
                )
                if value.startswith("#") and node.tag == "use":
                    assert value[1:] in identities, value


def _check_policy(root: Node) -> None:
    policy = root.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    (script,) = scripts(root)
    for node, rule in ((script, "script-src-elem"), (root.one("style"), "style-src-elem")):
        content = node.text()
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
