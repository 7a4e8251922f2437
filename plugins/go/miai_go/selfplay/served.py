"""What the machine's inference server did during a run: its batches and its queue."""

from __future__ import annotations

from typing import Any, Final

_COUNTED: Final = ("requests", "positions", "batches", "seconds", "waited")


class ServerWatch:
    """Reads the server's figures twice; what lies between is the run's, and others' beside it."""

    def __init__(self) -> None:
        self._before = _figures()

    def since(self) -> list[dict[str, Any]]:
        """Return for each network that was asked what was done since.

        path; requests, positions, batches and seconds of the network at work; mean_batch,
        positions in a batch; queue_wait, mean seconds that a request waited for its batch.
        """
        rows = []
        for key, after in _figures().items():
            before = self._before.get(key, {})
            done = {name: after[name] - before.get(name, 0.0) for name in _COUNTED}
            if done["requests"] > 0:
                waited = done.pop("waited")
                rows.append(
                    {
                        "path": key[1],
                        **{name: round(figure, 3) for name, figure in done.items()},
                        "mean_batch": round(done["positions"] / max(done["batches"], 1), 2),
                        "queue_wait": round(waited / done["requests"], 6),
                    }
                )
        return rows


def _figures() -> dict[tuple[int, str], dict[str, float]]:
    """Return the counts of each file's networks on the server that runs, by server and path."""
    from miai_go.inference.client import server_status

    status = server_status()
    found: dict[tuple[int, str], dict[str, float]] = {}
    networks: list[dict[str, Any]] = status["networks"] if status else []
    pid = status["pid"] if status else 0
    for network in networks:
        if "requests" not in network:  # not loaded
            continue
        # One file may be run in several ways, which the figures do not tell apart.
        counts = found.setdefault((pid, network["path"]), dict.fromkeys(_COUNTED, 0.0))
        for name in _COUNTED[:-1]:
            counts[name] += network[name]
        counts["waited"] += network["queue_wait"] * network["requests"]
    return found
