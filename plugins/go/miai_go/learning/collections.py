"""Public collections of games by name: where they are, and how they get here.

A component of kind ``go.dataset`` is a factory(parameters) -> `PublicDataset`. Nothing is fetched
before somebody asks for it.

Fetching an archive of games: over https only, no larger than allowed, with its checksum.

The components of data: public collections of games by name.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from miai.files import atomic_file, write_text
from miai.plugins.kinds import Kind
from miai_go.errors import DataError

if TYPE_CHECKING:
    from miai.plugins.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDataset:
    """A collection of games that others publish.

    Attributes:
      name: what it is called here.
      summary: what it holds.
      page: where it is described.
      sizes: boards that its games are on.
      licence: what is known of its terms.
      url: an archive that can be fetched over https and imported as it is; empty where there is
        none or there are many.
      sha256: of that archive, in hexadecimal; empty where it is not known, or it changes.
      size: of that archive, roughly, in bytes; 0 unknown.
      instructions: how to get it by hand, and what to import.
    """

    name: str
    summary: str
    page: str
    sizes: tuple[int, ...]
    licence: str
    url: str = ""
    sha256: str = ""
    size: int = 0
    instructions: str


def cgos_9x9(parameters: object = None) -> PublicDataset:
    """Return the 9x9 games of the Computer Go Server."""
    return PublicDataset(
        name="cgos-9x9",
        summary="Games of engines on the Computer Go Server, an archive a month, with ratings",
        page="http://www.yss-aya.com/cgos/",
        sizes=(9,),
        licence="not stated; ask the server's operator before passing games on",
        instructions="Fetch months from the page's archive, such as 9x9_2020_09.tar.bz2, and "
        "import them: miai go data import 9x9_*.tar.bz2 --out DIR --min-rating 2000",
    )


def aya_selfplay(parameters: object = None) -> PublicDataset:
    """Return the games that the engine Aya played with itself."""
    return PublicDataset(
        name="aya-selfplay",
        summary="Games of the engines Aya and Natsukaze with themselves, made to train networks",
        page="http://www.yss-aya.com/ayaself/ayaself.html",
        sizes=(9, 13, 19),
        licence="not stated; ask the author before passing games on",
        instructions="Fetch .tar.bz2 archives from the page and import them: "
        "miai go data import *.tar.bz2 --out DIR --size 9",
    )


def cwi(parameters: object = None) -> PublicDataset:
    """Return the collection of Andries Brouwer."""
    return PublicDataset(
        name="cwi",
        summary="Professional games since the Edo period; some hundred on 9x9, the rest on 19x19",
        page="https://homepages.cwi.nl/~aeb/go/games/",
        sizes=(9, 13, 19),
        licence="moves only, taken to be in the public domain; see the page",
        url="https://homepages.cwi.nl/~aeb/go/games/games.tgz",
        size=46_000_000,
        instructions="Fetch games.tgz, which grows from time to time, and import it: "
        "miai go data import games.tgz --out DIR --size 9 --any-result",
    )


def kgs_4d(parameters: object = None) -> PublicDataset:
    """Return the games of strong players on the KGS Go Server."""
    return PublicDataset(
        name="kgs-4d",
        summary="Games of players of 4 dan and stronger on the KGS Go Server, an archive a month",
        page="https://www.u-go.net/gamerecords-4d/",
        sizes=(19,),
        licence="not stated; see the page",
        instructions="Fetch .tar.gz archives from the page, or give one's address by --url, and "
        "import them: miai go data import KGS4d-*.tar.gz --out DIR --size 19",
    )


def nngs(parameters: object = None) -> PublicDataset:
    """Return the games of the No Name Go Server."""
    return PublicDataset(
        name="nngs",
        summary="All 435,000 games of the No Name Go Server, 1995 to 2005, of every strength",
        page="https://github.com/zenon/NNGS_SGF_Archive",
        sizes=(9, 13, 19),
        licence="reproduction permitted with credit to the server, as the records say",
        instructions="Clone the repository and import its folder: "
        "miai go data import NNGS_SGF_Archive --out DIR --size 9 --min-rank 5k",
    )


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
    with atomic_file(path) as file:
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


def _open(url: str, timeout: float) -> Any:
    _check_address(url)
    opener = urllib.request.build_opener(_OnlyHttps)
    return opener.open(url, timeout=timeout)


def _check_address(url: str) -> None:
    if not url.lower().startswith("https://"):
        raise DataError(f"{url}: is not fetched: only https addresses are; fetch it by hand")


_DATASETS: Final = {
    "aya-selfplay": ("aya_selfplay", "Games of the engine Aya with itself; 9x9, 13x13, 19x19"),
    "cgos-9x9": ("cgos_9x9", "Games of engines on the Computer Go Server; 9x9"),
    "cwi": ("cwi", "Professional games since the Edo period; 19x19, some 9x9"),
    "kgs-4d": ("kgs_4d", "Games of strong players on the KGS Go Server; 19x19"),
    "nngs": ("nngs", "All games of the No Name Go Server; every size"),
}


def register(registry: Registry) -> None:
    """Declare the kind of data sets and add those that are known."""
    registry.declare_kind(
        Kind(
            "go.dataset",
            "A public collection of games",
            "miai_go.learning.collections:PublicDataset",
        )
    )
    for name, (factory, summary) in _DATASETS.items():
        registry.add("go.dataset", name, f"miai_go.learning.collections:{factory}", summary=summary)
