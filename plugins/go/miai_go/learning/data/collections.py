"""Public collections of games, and downloads of their archives."""

from __future__ import annotations

import hashlib
import http.client
import re
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from miai.errors import near_matches
from miai.files import atomic_file, write_text
from miai_go.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDataset:
    """A published collection of games.

    Attributes:
      name: name in `COLLECTIONS`.
      summary: contents in one line.
      page: address of the description.
      sizes: board sizes of its games.
      licence: terms of use, as far as published.
      url: https address of an archive to import unchanged; empty if there is none or are many.
      size: approximate size of that archive in bytes; 0 if unknown.
      instructions: how to download and import it by hand.
    """

    name: str
    summary: str
    page: str
    sizes: tuple[int, ...]
    licence: str
    url: str = ""
    size: int = 0
    instructions: str


COLLECTIONS: Final = {
    name: PublicDataset(name=name, **facts | {"sizes": tuple(facts["sizes"])})
    for name, facts in tomllib.loads(
        Path(__file__).with_name("collections.toml").read_text("utf-8")
    ).items()
}
"""Public collections by name."""


def public_collection(name: str) -> PublicDataset:
    """Return a collection by name. Raises `DataError` for an unknown one."""
    if name not in COLLECTIONS:
        raise DataError(
            f"unknown collection {name!r}. {near_matches(name, COLLECTIONS)} To import other "
            "archives: miai go data import ARCHIVE --out DIR"
        )
    return COLLECTIONS[name]


MAX_BYTES: Final = 4 * 1024**3
TIMEOUT_SECONDS: Final = 30.0
_CHUNK: Final = 1024 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch(
    url: str,
    path: Path,
    *,
    sha256: str,
    trust_first: bool = False,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Download an archive over https; return its SHA-256.

    Args:
      sha256: expected digest in hexadecimal; empty if unknown.
      trust_first: whether an archive of unknown digest is accepted. Its digest is written to a file
        beside it, and later downloads must match.
      progress: called with the number of bytes received.

    Raises:
      DataError: the address is not https, the network fails, or the archive is too large or has
        another digest.
    """
    expected = expected_checksum(path, sha256, trust_first=trust_first)
    try:
        _check_address(url)
        opener = urllib.request.build_opener(_OnlyHttps)
        with opener.open(url, timeout=TIMEOUT_SECONDS) as stream:
            return save(stream, path, expected=expected, progress=progress)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"{url}: cannot be fetched: {reason}; download it by other means, then: "
            f"miai go data import {path.name} --out DIR"
        ) from error


def expected_checksum(path: Path, sha256: str, *, trust_first: bool) -> str:
    """Return the expected checksum of a file; empty to accept any and note it.

    Raises:
      DataError: the checksum is malformed, or it is unknown and `trust_first` is false.
    """
    note = _note(path)
    noted = note.read_text(encoding="ascii", errors="replace")[:64] if note.is_file() else ""
    expected = (sha256 or noted).strip().lower()
    if expected and not _SHA256.fullmatch(expected):
        raise DataError(f"{expected[:80]!r} is not a SHA-256, 64 hexadecimal digits")
    if not expected and not trust_first:
        raise DataError(
            f"the checksum of {path.name} is unknown: give it by --sha256, or use --trust-first to "
            "accept any file and note its checksum"
        )
    return expected


def save(
    stream: IO[bytes],
    path: Path,
    *,
    expected: str,
    max_bytes: int = MAX_BYTES,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Copy a stream to a file atomically; return its SHA-256.

    Raises:
      DataError: the file is larger than `max_bytes`, or its checksum differs from `expected`.
      OSError: reading or writing failed.
    """
    digest = hashlib.sha256()
    count = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        while chunk := stream.read(_CHUNK):
            count += len(chunk)
            if count > max_bytes:
                raise DataError(f"{path.name}: larger than {max_bytes} bytes; not stored")
            digest.update(chunk)
            file.write(chunk)
            if progress is not None:
                progress(count)
        # Inside the block, so that a file with another digest never gets its name.
        if expected and digest.hexdigest() != expected:
            raise DataError(
                f"{path.name}: has SHA-256 {digest.hexdigest()}, not {expected}; not stored"
            )
    if not expected:
        write_text(_note(path), f"{digest.hexdigest()}  {path.name}\n")
    return digest.hexdigest()


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Follows redirections to https addresses only."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        _check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(url: str) -> None:
    if not url.lower().startswith("https://"):
        raise DataError(f"{url}: only https addresses are supported; download it by hand")
