"""Collections of problems as SGF: the families, and the collection that ships with miai-go."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from miai.files import write_bytes, writing
from miai_go.errors import ProblemError
from miai_go.life.answers import solving_moves
from miai_go.life.families import Member, members
from miai_go.life.problem_sgf import problem_file, problem_of
from miai_go.life.problems import Problem
from miai_go.life.status import Status
from miai_go.life.walled import SIZES, canonical_key, with_key
from miai_go.life.zones import ATTACKER, DEFENDER, find_zone
from miai_go.rules.symmetry import SYMMETRIES
from miai_go.sgf.check import SgfError
from miai_go.sgf.reading import read_bytes
from miai_go.sgf.writing import set_text
from miai_go.shipped import FOLDER

SHIPPED: Final = FOLDER / "tsumego.sgf.gz"
SHIPPED_DIGEST: Final = FOLDER / "tsumego.sha256"
"""SHA-256 of the uncompressed SGF of `SHIPPED`, in the format of sha256sum."""

_GZIP: Final = ".gz"
_SGF: Final = ".sgf"
_MAX_BYTES: Final = 4 << 20


def shipped_problems() -> list[Problem]:
    """Return the shipped problems, with names and proved answers.

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
            return file.read(_MAX_BYTES)
    except (OSError, EOFError) as error:
        raise ProblemError(f"{SHIPPED}: cannot be read: {error}; reinstall miai-go") from error


def family_problems() -> Iterator[tuple[Member, Problem]]:
    """Yield the members of all families as problems with their answers.

    Board size, colours, symmetry and, for critical ones, the side to play vary in turn.
    """
    for number, member in enumerate(members()):
        yield member, _member_problem(number, member)


def family_keys() -> frozenset[bytes]:
    """Return the canonical keys of all members of families."""
    return frozenset(
        canonical_key(find_zone(problem.stones, problem.target)) for _, problem in family_problems()
    )


def collection_sgf(problems: Sequence[Problem], *, made_by: str) -> bytes:
    """Return problems as one SGF collection, with the command that made them in the first GC."""
    files = [problem_file(problem) for problem in problems]
    if files:
        set_text(files[0].get_root(), "GC", made_by)
    return b"".join(file.serialise() for file in files)


def write_collection(out: Path, problems: Sequence[Problem], *, made_by: str) -> str:
    """Write problems; return the SHA-256 of the uncompressed SGF.

    Args:
      out: a file that ends in .sgf or .sgf.gz, or a folder, which gets one file per problem.

    Raises:
      ProblemError: the collection cannot be written.
    """
    sgf = collection_sgf(problems, made_by=made_by)
    one_file = out.suffix in (_GZIP, _SGF)
    with writing(out, ProblemError):
        (out.parent if one_file else out).mkdir(parents=True, exist_ok=True)
        if one_file:
            write_bytes(out, gzip.compress(sgf, mtime=0) if out.suffix == _GZIP else sgf)
            return hashlib.sha256(sgf).hexdigest()
        for problem in problems:
            name = f"{_file_name(problem.name)}{_SGF}"
            write_bytes(out / name, collection_sgf([problem], made_by=made_by))
    return hashlib.sha256(sgf).hexdigest()


@cache
def _shipped() -> tuple[Problem, ...]:
    try:
        games = read_bytes(shipped_sgf(), source=SHIPPED.name)
    except SgfError as error:
        raise ProblemError(str(error)) from error
    return tuple(replace(problem_of(game), name=game.root.get("GN")) for game in games)


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
        return with_key(problem, zone, first=first, moves=moves, name=member.name)
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
