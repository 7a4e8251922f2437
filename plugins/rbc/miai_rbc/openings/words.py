"""Is a text PGN? python-chess passes over what it does not know; a book with mistakes is refused.

The format is section 8 of the PGN standard (Edwards 1994): tag pairs, then move numbers, moves in
SAN, comments, numeric glyphs, variations and a result.
"""

from __future__ import annotations

import re

from miai.errors import ConfigError

_HIDING = re.compile(r"^(\[[^\n]*)|^%[^\n]*|;[^\n]*|\{[^}]*\}|(\{)", re.MULTILINE)
_TAG = re.compile(r'\[\s*[A-Za-z0-9][A-Za-z0-9_+#=:-]*\s+"[^\n]*"\s*\]\s*')
_NUMBER = re.compile(r"^\d+\.+|^\d+$")
_WORD = re.compile(
    r"(?:[NBKRQ]?[a-h]?[1-8]?[-x]?[a-h][1-8](?:=?[NBRQnbrq])?|O-O(?:-O)?|0-0(?:-0)?|--|Z0)"
    r"[+#]*[?!]*|\$\d{1,3}|\*|1-0|0-1|1/2-1/2|e\.p\.|[^\w{}()\[\]]*"
)
_SHOWN = 40


def check_words(text: str, *, source: str) -> None:
    """Check that a text is made of what PGN is made of; whether its moves are legal is not asked.

    Args:
      source: the file, for messages.

    Raises:
      ConfigError: a line has a word that is nothing of PGN; a tag, a comment or a variation is not
        closed; or a tag stands among moves.
    """
    opened, moves = 0, False  # variations that are open; whether the game's moves have begun
    for number, line in enumerate([*_without_comments(text, source).splitlines(), ""], 1):
        where = f"{source}:{number}"
        if not line.strip():
            if opened:
                raise ConfigError(f"{where}: the game ends within a variation; close it by )")
            moves = False
        elif line.startswith("["):
            _check_tag(line, where, among_moves=moves)
        else:
            moves = True
            for word in re.findall(r"[()]|[^\s()]+", line):
                opened += (word == "(") - (word == ")")
                if opened < 0:
                    raise ConfigError(f"{where}: a variation ends by ) that did not begin")
                _check_word(word, where)


def _without_comments(text: str, source: str) -> str:
    """Return the text with a dot for each comment, its lines at their numbers."""

    def shortened(found: re.Match[str]) -> str:
        if found[2]:
            number = text.count("\n", 0, found.start()) + 1
            raise ConfigError(f"{source}:{number}: the comment that begins here never ends")
        return found[1] or "." + "\n." * found[0].count("\n")

    return _HIDING.sub(shortened, text)


def _check_tag(line: str, where: str, *, among_moves: bool) -> None:
    if among_moves:
        raise ConfigError(f"{where}: a tag stands among moves; begin a game after an empty line")
    if not _TAG.fullmatch(line):
        raise ConfigError(f'{where}: {line[:_SHOWN]!r} is no tag; a tag is [Name "value"]')


def _check_word(word: str, where: str) -> None:
    if word not in "()" and not _WORD.fullmatch(_NUMBER.sub("", word)):
        raise ConfigError(f"{where}: {word[:_SHOWN]!r} is no move and nothing else of PGN")
