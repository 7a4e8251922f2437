"""Fetching an archive of games: over https only, no larger than allowed, with its checksum."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

from miai_go.errors import DataError

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
    max_bytes: int = MAX_BYTES,
    timeout: float = TIMEOUT_SECONDS,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Fetch an archive into a file; return its SHA-256.

    Args:
      sha256: that it must have, in hexadecimal; empty where it is not known.
      trust_first: whether, without it, what comes is taken and its checksum noted in a file beside
        it, which later fetches then must match.
      timeout: seconds without an answer.
      progress: is told how many bytes have come.

    Raises:
      DataError: the address is not https, the network fails, or the bytes are too many or others.
    """
    expected = expected_checksum(path, sha256, trust_first=trust_first)
    try:
        with _open(url, timeout) as stream:
            return save(
                stream,
                path,
                expected=expected,
                max_bytes=max_bytes,
                progress=progress,
            )
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"{url}: cannot be fetched: {reason}; fetch it by other means, then: "
            f"miai go data import {path.name} --out DIR"
        ) from error


def expected_checksum(path: Path, sha256: str, *, trust_first: bool) -> str:
    """Return the checksum that a file must have; empty: any, which is then noted.

    Raises:
      DataError: none is known, and whatever comes is not to be trusted; or it is no checksum.
    """
    note = _note(path)
    noted = note.read_text(encoding="ascii", errors="replace")[:64] if note.is_file() else ""
    expected = (sha256 or noted).strip().lower()
    if expected and not _SHA256.fullmatch(expected):
        raise DataError(f"{expected[:80]!r} is no SHA-256: give its 64 hexadecimal digits")
    if not expected and not trust_first:
        raise DataError(
            f"no checksum of {path.name} is known: give it by --sha256, or --trust-first to take "
            "what comes and to note its checksum"
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
    """Copy a stream to a file, which is there whole or not at all; return its SHA-256.

    Raises:
      DataError: it is larger than `max_bytes`, or its checksum is not the expected one.
      OSError: reading or writing failed.
    """
    digest = hashlib.sha256()
    count = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as file:
        try:
            while chunk := stream.read(_CHUNK):
                count += len(chunk)
                if count > max_bytes:
                    raise DataError(f"{path.name}: is larger than {max_bytes} bytes; not kept")
                digest.update(chunk)
                file.write(chunk)
                if progress is not None:
                    progress(count)
            if expected and digest.hexdigest() != expected:
                raise DataError(
                    f"{path.name}: has SHA-256 {digest.hexdigest()}, not {expected}; not kept"
                )
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    if not expected:
        _note(path).write_text(f"{digest.hexdigest()}  {path.name}\n", encoding="ascii")
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


def _open(url: str, timeout: float) -> Any:
    _check_address(url)
    opener = urllib.request.build_opener(_OnlyHttps)
    return opener.open(url, timeout=timeout)


def _check_address(url: str) -> None:
    if not url.lower().startswith("https://"):
        raise DataError(f"{url}: is not fetched: only https addresses are; fetch it by hand")
