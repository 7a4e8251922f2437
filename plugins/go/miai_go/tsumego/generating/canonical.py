"""Keys of positions, the same under translation, the eight symmetries and exchange of colours.

A position of a zone is the same game as another when its points lie alike to each other, hold the
same sides' stones, and touch what is beyond the zone alike. So that, the target and who is to move
are all that a key holds; the edge of the board is in it because points there have fewer neighbours.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from miai_go.symmetry import SYMMETRIES
from miai_go.tsumego.kernels import stones as kernels
from miai_go.tsumego.prover import NO_BAN, Master
from miai_go.tsumego.zones import Zone

KEY_BYTES: Final = 16

_EMPTY, _ATTACKER, _DEFENDER, _TARGET, _BAN = range(5)


class CanonicalForm:
    """Keys of the positions of one zone. Making it costs more than a key does.

    Attributes:
      shape: the key of the zone without its stones, `KEY_BYTES` bytes.
    """

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        open_points = int(zone.words[kernels.OPEN])
        self._near = [int(word) for word in zone.words[: len(zone.points)]]
        outlines = []
        for symmetry in range(SYMMETRIES):
            cells = _turned(zone, symmetry)
            order = sorted(range(len(cells)), key=cells.__getitem__)
            outline = tuple((*cells[i], open_points >> i & 1) for i in order)
            outlines.append((outline, order))
        least = min(outline for outline, _ in outlines)
        self._orders = [order for outline, order in outlines if outline == least]
        self._outline = bytes(value for row in least for value in row)
        self.shape = blake2b(self._outline, digest_size=KEY_BYTES).digest()

    def key(
        self,
        attackers: int,
        defenders: int,
        *,
        master: Master = Master.ATTACKER,
        first: int | None = None,
        ban: int = NO_BAN,
    ) -> bytes:
        """Return the key of a position, `KEY_BYTES` bytes.

        Args:
          attackers, defenders: the stones of both sides, as sets of points of the zone.
          master: who may retake a ko at once.
          first: who is to move, 0 the attacker, 1 the defender; None for a key without it.
          ban: the point of the zone that may not be played because of a ko.
        """
        target = self._target(defenders)
        marks = [
            _TARGET
            if target >> i & 1
            else _DEFENDER
            if defenders >> i & 1
            else _ATTACKER
            if attackers >> i & 1
            else _EMPTY
            for i in range(len(self._near))
        ]
        if ban != NO_BAN:
            marks[ban] = _BAN
        content = min(bytes(marks[i] for i in order) for order in self._orders)
        asked = bytes((master.value + 1, 2 if first is None else first))
        return blake2b(self._outline + content + asked, digest_size=KEY_BYTES).digest()

    def _target(self, defenders: int) -> int:
        """Return the block of the target."""
        block = edge = int(self._zone.words[kernels.TARGET]) & defenders
        while edge:
            i = edge.bit_length() - 1
            edge ^= 1 << i
            new = self._near[i] & defenders & ~block
            block |= new
            edge |= new
        return block


def canonical_key(
    zone: Zone, *, master: Master = Master.ATTACKER, first: int | None = None
) -> bytes:
    """Return the key of a zone as it was found; see `CanonicalForm.key`."""
    form = CanonicalForm(zone)
    return form.key(zone.attackers, zone.defenders, master=master, first=first)


def _turned(zone: Zone, symmetry: int) -> list[tuple[int, int]]:
    """Return row and column of the zone's points under a symmetry, from the least ones."""
    cells = []
    for point in zone.points:
        row, column = divmod(point, zone.size)
        row = -row if symmetry & 1 else row
        column = -column if symmetry & 2 else column
        cells.append((column, row) if symmetry & 4 else (row, column))
    low, left = min(r for r, _ in cells), min(c for _, c in cells)
    return [(row - low, column - left) for row, column in cells]
