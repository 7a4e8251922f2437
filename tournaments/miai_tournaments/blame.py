"""Faults of components that plugins bring are named as theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from miai.errors import MiaiError, PluginError

if TYPE_CHECKING:
    from miai.plugins.registry import Component


def is_foreign(component: Component[Any]) -> bool:
    """Return whether another plugin brings a component, so that its faults are not miai's."""
    return not str(component.factory).startswith("miai_tournaments.")


@contextmanager
def blamed(title: str) -> Iterator[None]:
    """Turn what a component of a plugin raises into a `PluginError` that names it."""
    try:
        yield
    except MiaiError:
        raise
    except Exception as error:
        raise PluginError(
            f"{title} failed: {type(error).__name__}: {error}; a defect of the plugin"
        ) from error


class Guarded:
    """A component of a plugin, each use of which is `blamed`.

    Args:
      title: names the component and its plugin.
    """

    def __init__(self, component: Any, title: str) -> None:
        self._component, self._title = component, title

    def __getattr__(self, name: str) -> Any:
        with blamed(self._title):
            value = getattr(self._component, name)
        if not callable(value):
            return value

        def call(*values: Any, **options: Any) -> Any:
            with blamed(self._title):
                return value(*values, **options)

        return call
