"""How often rules of adjudication have ended games, and how often they would have been wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miai.adjudication import held_out
from miai.errors import RecordError
from miai.record import Termination
from miai.record_reader import read_verdicts
from miai_tournaments.report.layout import Column, Table, printable
from miai_tournaments.report.standings import FORFEITS
from miai_tournaments.store.database import damaged
from miai_tournaments.store.reading import is_int

if TYPE_CHECKING:
    from miai_tournaments.store.store import RunInfo, Store

_NAME_WIDTH = 40


@dataclass(slots=True)
class RuleCount:
    """What became of the games that one rule has spoken on.

    Attributes:
      rule: its name.
      ended: games that it ended.
      held_out: games that were played on, to an end without a forfeit.
      wrong: of these, games that ended with another winner, or with one where it saw a draw.
    """

    rule: str
    ended: int = 0
    held_out: int = 0
    wrong: int = 0


@dataclass(frozen=True, slots=True)
class Adjudications:
    """The rules of a tournament.

    Attributes:
      hold_out: share of the games that are played to their end.
      rules: in the order of the config.
    """

    hold_out: float
    rules: Sequence[RuleCount]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        keys = RuleCount.__slots__
        rules = [{key: getattr(rule, key) for key in keys} for rule in self.rules]
        return {"hold_out": self.hold_out, "rules": rules}

    def table(self) -> Table:
        """Return it for the text of a report."""
        title = "Adjudication: games that rules ended, that were held out, and wrong verdicts"
        columns = [Column("rule", align="left"), *map(Column, ("ended", "held out", "wrong"))]
        rows = [
            (printable(r.rule, _NAME_WIDTH), str(r.ended), str(r.held_out), str(r.wrong))
            for r in self.rules
        ]
        return Table(title, tuple(columns), tuple(rows))


def count_adjudications(store: Store, info: RunInfo) -> Adjudications | None:
    """Return what rules have done in a run; None where it has none.

    Of games that are held out the records are looked at, of all others one row.

    Raises:
      StoreError: the store cannot be read, or a record is not as it should be.
    """
    hold_out, names = _told(info)
    if not names:
        return None
    counts = {name: RuleCount(name) for name in names}
    ended: Counter[str] = Counter()
    left: list[str] = []
    for game_id, seed, termination, detail in store.cells(
        ("game_id", "seed", "termination", "detail")
    ):
        if termination == Termination.ADJUDICATION:
            ended[str(detail).partition(":")[0]] += 1  # as the referee writes it
        elif hold_out and termination not in FORFEITS:
            if not is_int(seed):
                raise damaged(store.path, f"table games, row '{game_id}': seed is no number")
            if held_out(seed, hold_out):
                left.append(game_id)
    for name, count in counts.items():
        count.ended = ended[name]
    for game_id in left:
        _add_held_out(counts, store, game_id)
    return Adjudications(hold_out, list(counts.values()))


def _add_held_out(counts: Mapping[str, RuleCount], store: Store, game_id: str) -> None:
    try:
        returns, verdicts = read_verdicts(store.record(game_id))
    except RecordError as error:
        raise damaged(store.path, f"table records, row '{game_id}': {error}") from error
    for verdict in verdicts:
        count = counts.get(verdict.rule)
        if count is not None:
            count.held_out += 1
            count.wrong += _winner(verdict.returns) != _winner(returns)


def _winner(returns: Sequence[float]) -> int:
    """Return 1 where the first player won, 0 for a draw, -1 where the second won."""
    return (returns[0] > returns[1]) - (returns[0] < returns[1])


def _told(info: RunInfo) -> tuple[float, list[str]]:
    """Return the share that is held out and the names of the rules, as the store tells them."""
    told = info.adjudication()
    share, names = told.get("hold_out"), told.get("order")
    if not isinstance(share, (int, float)) or not isinstance(names, list):
        return 0.0, []
    return float(share), [str(name) for name in names]
