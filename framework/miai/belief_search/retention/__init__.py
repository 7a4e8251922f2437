"""Which of the remembered beliefs are kept when there is no room for all: see `protocol`."""

from miai.belief_search.retention.protocol import Retention

__all__ = ["Retention"]
