"""What bounds with a byte limit ask of a retention policy: `Retention`."""

from __future__ import annotations

from typing import Protocol


class Retention(Protocol):
    """Chooses what to forget. Entries are 64-bit names, the same whenever the same belief comes.

    It holds the names of what is remembered now, and may hold more about names that were.
    """

    def added(self, name: int) -> None:
        """Be told that an entry is remembered now."""

    def used(self, name: int) -> None:
        """Be told that an entry gave a bound, or that it was found once more."""

    def victim(self) -> int | None:
        """Return what to forget, and forget that it is remembered; None to keep all there is."""
