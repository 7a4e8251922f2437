"""Problems made by rule: families whose answer Go theory knows, and random walled fights.

`diagrams` draws positions, `tables` says what players know, `families` makes positions of it,
`walled` draws random ones, `answers` proves, `canonical` says which problems are the same, `making`
makes many on several processes, with `journal`, and `collection` is the set that ships.

Collections of problems: made by one command, written as SGF, and the one that ships.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from miai.files import write_bytes
from miai_go.errors import ProblemError
from miai_go.life.answers import solving_moves
from miai_go.life.families import Member, members
from miai_go.life.problem_sgf import problem_file, problem_of
from miai_go.life.problems import Problem
from miai_go.life.status import Status
from miai_go.life.walled import SIZES, canonical_key, told
from miai_go.life.zones import ATTACKER, DEFENDER, find_zone
from miai_go.rules.symmetry import SYMMETRIES
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import read_bytes
from miai_go.shipped import FOLDER

SHIPPED: Final = FOLDER / "tsumego.sgf.gz"
SHIPPED_DIGEST: Final = FOLDER / "tsumego.sha256"
"""SHA-256 of the SGF in `SHIPPED`, uncompressed, as sha256sum writes it."""

_GZIP: Final = ".gz"
_SGF: Final = ".sgf"
_MOST_BYTES: Final = 4 << 20


def shipped_problems() -> list[Problem]:
    """Return the problems that come with the distribution, named, with proved answers.

    Raises:
      ProblemError: the file is missing or damaged.
    """
    return list(_shipped())


def shipped_sgf() -> bytes:
    """Return the shipped collection as SGF.

    Raises:
      ProblemError: the file is missing or damaged.
    """
    try:
        with gzip.open(SHIPPED) as file:
            return file.read(_MOST_BYTES)
    except (OSError, EOFError) as error:
        raise ProblemError(f"{SHIPPED}: cannot be read: {error}; install miai-go again") from error


def family_problems() -> Iterator[tuple[Member, Problem]]:
    """Yield the members of all families as problems with their answers, on boards of all sizes.

    Sizes, colours, symmetries and, of critical ones, who is to play vary from each to the next.
    """
    for number, member in enumerate(members()):
        yield member, _member_problem(number, member)


def family_keys() -> frozenset[bytes]:
    """Return the canonical keys of all members of families."""
    found = (problem for _, problem in family_problems())
    return frozenset(canonical_key(find_zone(p.stones, p.target)) for p in found)


def collection_sgf(problems: Sequence[Problem], *, made_by: str) -> bytes:
    """Return problems as one SGF collection, the command that made them in the first one's GC."""
    files = [problem_file(problem) for problem in problems]
    if files:
        files[0].get_root().set("GC", made_by)
    return b"".join(file.serialise() for file in files)


def write_collection(out: Path, problems: Sequence[Problem], *, made_by: str) -> str:
    """Write problems; return the SHA-256 of the SGF, uncompressed.

    Args:
      out: a file that ends in .sgf or .sgf.gz; or a folder, which gets a file for each problem.

    Raises:
      ProblemError: it cannot be written.
    """
    sgf = collection_sgf(problems, made_by=made_by)
    one_file = out.suffix in (_GZIP, _SGF)
    try:
        (out.parent if one_file else out).mkdir(parents=True, exist_ok=True)
        if one_file:
            write_bytes(out, gzip.compress(sgf, mtime=0) if out.suffix == _GZIP else sgf)
            return hashlib.sha256(sgf).hexdigest()
        for problem in problems:
            name = f"{_file_name(problem.name)}{_SGF}"
            write_bytes(out / name, collection_sgf([problem], made_by=made_by))
    except OSError as error:
        raise ProblemError(f"{error.filename}: cannot be written: {error.strerror}") from error
    return hashlib.sha256(sgf).hexdigest()


def named_problems(data: bytes, *, source: str) -> Iterator[Problem]:
    """Yield the problems of SGF data under the names that they have in it.

    Raises:
      ProblemError: one of them is none.
    """
    try:
        for game in read_bytes(data, source=source):
            root = game.root
            name = root.get("GN") if root.has_property("GN") else ""
            yield replace(problem_of(game), name=name)
    except SgfError as error:
        raise ProblemError(str(error)) from error


@cache
def _shipped() -> tuple[Problem, ...]:
    return tuple(named_problems(shipped_sgf(), source=SHIPPED.name))


def _member_problem(number: int, member: Member) -> Problem:
    fits = [size for size in SIZES if all(member.diagram.room(size))]
    problem = member.diagram.place(
        fits[number % len(fits)],
        defender=1 + number % 2,
        symmetry=number // 2 % SYMMETRIES,
    )
    zone = find_zone(problem.stones, problem.target)
    status = member.fate.status
    if status == Status.CRITICAL:
        first = number // 3 % 2
        moves = solving_moves(zone, first)
        return told(problem, zone, first=first, moves=moves, name=member.name)
    first = ATTACKER if status == Status.ALIVE else DEFENDER
    return Problem(
        size=problem.size,
        stones=problem.stones,
        target=problem.target,
        name=member.name,
        first=zone.color(first),
        safe=status == Status.ALIVE,
        empty=zone.empty,
    )


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name)
