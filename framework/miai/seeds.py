"""Seeds that derive from what they are for.

A seed never depends on the order in which things happen to be done: it is a hash of the names of
the thing that it seeds, so results do not change with the executor, the number of workers or the
version of Python.
"""

from __future__ import annotations

import hashlib
import json

_DOMAIN = "miai.seed/1"


def derive_seed(*parts: int | str) -> int:
    """Return the seed of what the parts name, from 0 to 2**63 - 1.

    The first 63 bits, big-endian, of the SHA-256 of the parts as a compact ASCII JSON list that
    begins with ``"miai.seed/1"``; the number 1 and the text ``"1"`` are different parts.

    Raises:
      TypeError: a part is neither an int nor a str.
    """
    for part in parts:
        if type(part) not in (int, str):
            raise TypeError(f"a seed derives from integers and texts, got {part!r}")
    text = json.dumps([_DOMAIN, *parts], separators=(",", ":"))
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return int.from_bytes(digest[:8], "big") >> 1
