"""Making batches ahead of the training, in a thread; kernels release the interpreter's lock."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Self

from miai_go.data.batch import Batch
from miai_go.data.stream import BatchStream

_LOOK_SECONDS: Final = 0.1


class Prefetcher:
    """Iterates over the batches of a stream, some of which are made ahead.

    Used in a ``with`` statement, which ends the thread; the stream is not used beside it.

    Args:
      stream: what is made ahead.
      depth: batches that wait at most.

    Attributes:
      waited: seconds for which the taker of the batches had to wait for them so far.
    """

    def __init__(self, stream: BatchStream, *, depth: int = 4) -> None:
        self.waited = 0.0
        self._stream = stream
        self._state = stream.state()
        self._ready: queue.Queue[Batch | BaseException | None] = queue.Queue(max(1, depth))
        self._stop = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._make, name="go-batches", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the thread."""
        self.close()

    def __len__(self) -> int:
        """How many batches the epoch has."""
        return len(self._stream)

    def __iter__(self) -> Iterator[Batch]:
        """Return itself."""
        return self

    def __next__(self) -> Batch:
        """Return the next batch. Raises what making it raised."""
        if self._over:
            raise StopIteration
        began = time.perf_counter()
        got = self._ready.get()
        self.waited += time.perf_counter() - began
        if isinstance(got, Batch):
            self._state["batch"] += 1
            return got
        self.close()
        if got is None:
            raise StopIteration
        raise got

    def state(self) -> dict[str, Any]:
        """Return plain data from which `GoDataset.resume` goes on after the last batch taken."""
        return dict(self._state)

    def close(self) -> None:
        """End the thread; batches that wait are dropped."""
        self._over = True
        self._stop.set()
        self._thread.join()

    def _make(self) -> None:
        try:
            for batch in self._stream:
                if not self._put(batch):
                    return
            self._put(None)
        except BaseException as error:
            self._put(error)  # raised where the batch is asked for

    def _put(self, what: Batch | BaseException | None) -> bool:
        while not self._stop.is_set():
            try:
                self._ready.put(what, timeout=_LOOK_SECONDS)
            except queue.Full:
                continue
            return True
        return False
