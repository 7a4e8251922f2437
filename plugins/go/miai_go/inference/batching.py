"""Many askers, one network: requests that wait together become one batch."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from miai_go.encoders.protocol import Encoder
from miai_go.errors import InferenceError
from miai_go.inference.counting import Counter, Planes, check_planes, rows
from miai_go.inference.protocol import Answers, Oracle


@dataclass(slots=True, eq=False)
class _Request:
    planes: Planes
    since: float = field(default_factory=time.perf_counter)
    done: threading.Event = field(default_factory=threading.Event)
    answers: Answers | None = None
    error: BaseException | None = None


class BatchingOracle:
    """An oracle for many threads, which merges what waits into one batch of another oracle.

    One worker takes the requests that wait, in their order, up to `max_batch` positions; while the
    network is at work the next ones gather. A request is never divided.

    Attributes:
      encoder: makes the planes that it takes.
      has_policy, has_value: which answers it gives.
      askers: how many threads are expected to ask; None if nobody knows. Once requests of so many
        wait, no more can come, and waiting on would be in vain.
    """

    encoder: Encoder
    has_policy: bool
    has_value: bool

    def __init__(
        self,
        oracle: Oracle,
        *,
        max_batch: int = 64,
        max_wait: float = 0.0,
        askers: int | None = None,
    ) -> None:
        """Start the worker.

        Args:
          oracle: answers the batches; it is asked by the worker alone, and closed with this one.
          max_batch: positions after which a batch takes no further request.
          max_wait: seconds that the oldest request may wait for others, beside the time that the
            network is busy: 0 to go ahead with what is there.
        """
        self.encoder = oracle.encoder
        self.has_policy = oracle.has_policy
        self.has_value = oracle.has_value
        self.askers = askers
        self._oracle = oracle
        self._max_batch = max_batch
        self._max_wait = max_wait
        self._counter = Counter()
        self._most_waiting = 0
        self._closed = False
        self._waiting: deque[_Request] = deque()
        self._changed = threading.Condition()
        self._worker = threading.Thread(target=self._work, name="miai-go-batches", daemon=True)
        self._worker.start()

    def infer(self, planes: Planes) -> Answers:
        """Return what the network makes of planes; waits until a batch with them is done.

        Raises:
          InferenceError: the planes do not fit, the network cannot answer, or this was closed.
        """
        check_planes(planes, self.encoder)
        request = _Request(planes)
        with self._changed:
            if self._closed:
                raise InferenceError("the network was closed; load it again")
            self._waiting.append(request)
            self._most_waiting = max(self._most_waiting, len(self._waiting))
            self._changed.notify()
        request.done.wait()
        if request.error is not None:
            raise InferenceError(str(request.error)) from request.error
        assert request.answers is not None
        return request.answers

    def statistics(self) -> dict[str, float]:
        """Return what was done so far; see `Counter.statistics`.

        Beside it: queue, the requests that wait now, and most_waiting, the most that ever did.
        """
        with self._changed:
            queue = {"queue": float(len(self._waiting)), "most_waiting": float(self._most_waiting)}
        return {**self._counter.statistics(), **queue}

    def close(self) -> None:
        """Answer what waits, end the worker and close the network's oracle."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._worker.join()
        self._oracle.close()

    def _work(self) -> None:
        while batch := self._next_batch():
            began = time.perf_counter()
            try:
                self._answer(batch)
            except BaseException as error:  # told to those who asked, in their threads
                for request in batch:
                    request.error = error
            seconds = time.perf_counter() - began
            wait = sum(began - request.since for request in batch)
            positions = sum(len(request.planes) for request in batch)
            self._counter.add(positions=positions, seconds=seconds, requests=len(batch), wait=wait)
            for request in batch:
                request.done.set()

    def _next_batch(self) -> list[_Request]:
        """Return requests that fit together, the oldest first; none when all is over."""
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return []
                self._changed.wait()
            deadline = self._waiting[0].since + self._max_wait
            while not self._is_full() and (left := deadline - time.perf_counter()) > 0:
                self._changed.wait(left)
            batch = [self._waiting.popleft()]
            positions = len(batch[0].planes)
            while self._waiting and positions + len(self._waiting[0].planes) <= self._max_batch:
                positions += len(self._waiting[0].planes)
                batch.append(self._waiting.popleft())
            return batch

    def _is_full(self) -> bool:
        """Return whether waiting for more requests would be in vain."""
        if self._closed or (self.askers is not None and len(self._waiting) >= self.askers):
            return True
        return sum(len(request.planes) for request in self._waiting) >= self._max_batch

    def _answer(self, batch: list[_Request]) -> None:
        if len(batch) == 1:
            batch[0].answers = self._oracle.infer(batch[0].planes)
            return
        together = self._oracle.infer(np.concatenate([request.planes for request in batch]))
        begin = 0
        for request in batch:
            end = begin + len(request.planes)
            request.answers = rows(together, begin, end)
            begin = end
