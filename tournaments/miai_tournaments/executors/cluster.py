"""Ray, connected to and left again: a cluster at an address, or one of this machine's own.

Ray is the extra ``miai[ray]``; nothing else in the tournaments imports it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from miai.errors import ConfigError

LOCAL: Final = "local"
"""The address of a cluster that is begun on this machine and ends with the run."""

STORE_BYTES: Final = 100 * 2**20
"""Shared memory of a local cluster: outcomes are small and are taken at once."""

REACH_SECONDS: Final = 5.0
"""How long an address is tried before it is held to be unreachable."""

QUIET: Final = {
    "enable_metrics_collection": False,
    "task_events_report_interval_ms": 0,
    "memory_monitor_refresh_ms": 0,  # memory is bounded by ``[limits]``, as for all executors
    "raylet_report_resources_period_milliseconds": 1000,
}
"""Settings of a local cluster: nobody looks at its statistics, and its own processes take their
time from the games'."""

_CLIENT = "ray://"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def import_ray() -> ModuleType:
    """Return the module, told to send no statistics. Raises `ConfigError` without it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            "run.executor: 'ray' needs the package ray; install it with `pip install 'miai[ray]'`"
        ) from error
    module: ModuleType = ray
    return module


@contextlib.contextmanager
def connected(address: str, *, workers: int) -> Iterator[ModuleType]:
    """Give Ray, connected to a cluster; leaving it ends the connection, and a local cluster.

    Args:
      address: ``local``, ``HOST:PORT`` of a cluster's head, or ``ray://HOST:PORT``.
      workers: of a local cluster, how many actors it is to hold.

    Raises:
      ConfigError: no cluster answers at the address, or Ray is not installed.
    """
    ray = import_ray()
    options: dict[str, Any] = {"address": address, "log_to_driver": False}
    if address == LOCAL:
        options |= {
            "num_cpus": workers,
            "include_dashboard": False,
            "object_store_memory": STORE_BYTES,
            "_system_config": QUIET,
        }
    else:
        check_reachable(address)
    with _own_signals():
        try:
            ray.init(**options, logging_level=logging.CRITICAL)
        except Exception as error:  # Ray raises of all kinds, its own and those of what it uses
            said = " ".join(str(error).split())[:300]
            raise ConfigError(
                f"run.address: no Ray cluster could be joined at '{address}': {said}"
            ) from error
    try:
        yield ray
    finally:
        with _own_signals():
            ray.shutdown()


def check_reachable(address: str) -> None:
    """Raise `ConfigError` unless something listens at ``HOST:PORT`` or ``ray://HOST:PORT``.

    Ray itself would try for minutes.
    """
    host, colon, port = address.removeprefix(_CLIENT).rpartition(":")
    if not (colon and host and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise ConfigError(
            f"run.address: '{address}' is no address of a Ray cluster; give '{LOCAL}', HOST:PORT "
            f"or {_CLIENT}HOST:PORT"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()
    except OSError as error:
        raise ConfigError(
            f"run.address: no Ray cluster answers at '{address}': {error}; start one with "
            f"`ray start --head`, or give '{LOCAL}'"
        ) from error


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this process's signal handlers, which Ray replaces by its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
