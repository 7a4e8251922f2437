"""The kinds of run that have a folder with a store in it, and how each is spoken of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """A kind of run.

    Attributes:
      noun: what it is called.
      file_name: of its store.
      schema: version of the store's tables; older ones from 1 on are read, and upgraded when they
        are written to.
      application_id: four letters in the header of the store, so that one kind is never taken for
        another, whatever the file is called.
      begin: the command that begins one, which the folder follows.
      busy: what to do when somebody runs it, ``{folder}`` being its folder.
      own: what a run may leave in a folder before there is a store.
    """

    noun: str
    file_name: str
    schema: int
    application_id: int
    begin: str
    busy: str
    own: frozenset[str]


TOURNAMENT: Final = RunKind(
    noun="tournament",
    file_name="tournament.sqlite",
    schema=2,
    application_id=0x6D696169,  # miai
    begin="miai tournament run CONFIG --out",
    busy="watch it with `miai tournament status {folder}`, end it with `miai tournament stop "
    "{folder}`",
    own=frozenset({"lock", "stop", "logs", "records", "store.json.new"}),
)

COMPARISON: Final = RunKind(
    noun="comparison",
    file_name="comparison.sqlite",
    schema=1,
    application_id=0x6D696163,  # miac
    begin="miai compare CONFIG --out",
    busy="let it end, or stop it with Ctrl-C where it runs",
    own=frozenset({"lock"}),
)
