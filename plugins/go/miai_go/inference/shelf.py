"""The networks that an inference server holds."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from miai.plugins.parameters import StrictModel
from miai_go.errors import InferenceError
from miai_go.inference.batching import BatchingOracle
from miai_go.inference.ensemble import Ensemble
from miai_go.inference.loading import open_network
from miai_go.inference.protocol import Oracle
from miai_go.networks.header import WeightsHeader

_KEPT_UNUSED = 4


class NetworkWish(StrictModel):
    """Which network a client asks for, and how it is to be run; see `load_oracle`.

    Attributes:
      path: the weights file, from the root.
      sha256: digest of the whole file; what lies at the path now must have it.
    """

    path: str = Field(max_length=4096)
    sha256: str = Field(max_length=64)
    backend: Literal["auto", "torch", "onnx"] = "auto"
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    symmetry: Literal["none", "average", "random"] = "none"
    fixed_batch: int | None = Field(default=None, ge=1, le=1024)
    device: str = Field(default="cpu", max_length=40)
    seed: int = 0

    @property
    def key(self) -> str:
        """What two wishes for one network have in common: all but the path."""
        return self.model_copy(update={"path": ""}).model_dump_json()


@dataclass(slots=True, eq=False)
class Held:
    """One network of the shelf.

    Attributes:
      wish: the first wish for it.
      users: connections that use it.
      loading: held by who loads it.
      header, oracle: None until it is loaded.
    """

    wish: NetworkWish
    users: int = 0
    loading: threading.Lock = field(default_factory=threading.Lock)
    header: WeightsHeader | None = None
    oracle: BatchingOracle | None = None


class Shelf:
    """Networks by what was wished, loaded once, each with a queue that merges requests."""

    def __init__(self, *, threads: int, max_batch: int, max_wait: float) -> None:
        self._threads = threads
        self._max_batch = max_batch
        self._max_wait = max_wait
        self._held: dict[str, Held] = {}
        self._lock = threading.Lock()

    def take(self, wish: NetworkWish) -> Held:
        """Return the network wished for, loaded if it is not; give it back with `release`.

        Raises:
          MiaiError: it cannot be loaded, or is another than wished for.
        """
        with self._lock:
            held = self._held.pop(wish.key, None) or Held(wish)
            self._held[wish.key] = held  # the last used are the last of the shelf
            self._count(held, 1)
        try:
            with held.loading:
                if held.oracle is None:
                    self._load(held)
                    with self._lock:
                        self._count(held, 0)
        except BaseException:
            self.release(held)
            raise
        return held

    def release(self, held: Held) -> None:
        """Note that a connection uses it no more; few that nobody uses are kept."""
        with self._lock:
            self._count(held, -1)
            unused = [key for key, other in self._held.items() if other.users == 0]
            failed = [key for key in unused if self._held[key].oracle is None]
            surplus = [key for key in unused if key not in failed][:-_KEPT_UNUSED]
            gone = [self._held.pop(key) for key in failed + surplus]
        for other in gone:
            if other.oracle is not None:
                other.oracle.close()

    def statistics(self) -> list[dict[str, str | float]]:
        """Return the figures of each network, with its path, digest and users."""
        with self._lock:
            held = list(self._held.values())
        return [
            {
                "path": one.wish.path,
                "sha256": one.wish.sha256,
                "users": float(one.users),
                **(one.oracle.statistics() if one.oracle else {}),
            }
            for one in held
        ]

    def _count(self, held: Held, more: int) -> None:
        held.users += more
        if held.oracle is not None:
            held.oracle.askers = held.users

    def _load(self, held: Held) -> None:
        wish = held.wish
        path = Path(wish.path)
        _check_digest(path, wish.sha256)
        runner = open_network(
            path,
            backend=wish.backend,
            precision=wish.precision,
            threads=self._threads,
            fixed_batch=wish.fixed_batch,
            device=wish.device,
        )
        _check_digest(path, wish.sha256)  # it may have been replaced while it was read
        oracle: Oracle = runner
        if wish.symmetry != "none":
            oracle = Ensemble(runner, wish.symmetry, seed=wish.seed)
        most = wish.fixed_batch or self._max_batch
        held.header = runner.header
        held.oracle = BatchingOracle(oracle, max_batch=most, max_wait=self._max_wait)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a whole file. Raises `InferenceError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InferenceError(f"{path}: cannot be read: {error.strerror}") from error


def _check_digest(path: Path, wanted: str) -> None:
    if file_digest(path) != wanted:
        raise InferenceError(f"{path}: was replaced since it was asked for; open it again")
