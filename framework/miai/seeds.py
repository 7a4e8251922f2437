"""Seeds that derive from their purpose.

A seed is a hash of names that say what it is for. It never depends on the order of events, so
results do not change with the executor, the number of workers or the version of Python.
"""

from __future__ import annotations

import hashlib
import json

SEED_BITS = 128
"""Bits of the seed of a whole run; one that is drawn cannot be found by trial."""

_DOMAIN = "miai.seed/1"
_encode = json.JSONEncoder(separators=(",", ":")).encode


def derive_seed(*parts: int | str) -> int:
    """Return the seed for the purpose that the parts name, from 0 to 2**63 - 1.

    It is the first 63 bits, big-endian, of the SHA-256 of a compact ASCII JSON list: the text
    ``"miai.seed/1"`` and the parts. The number 1 and the text ``"1"`` are different parts. Raises
    `TypeError` if a part is neither an int nor a str.
    """
    for part in parts:
        if type(part) not in (int, str):
            raise TypeError(f"a seed derives from integers and texts, not {part!r}")
    digest = hashlib.sha256(_encode([_DOMAIN, *parts]).encode("ascii")).digest()
    # 63 bits fit into a signed integer of 64, such as those of databases.
    return int.from_bytes(digest[:8], "big") >> 1
