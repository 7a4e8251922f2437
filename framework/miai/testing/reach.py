"""The rule that nothing a player holds leads to the state of the game in progress."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from miai.game import State
from miai.information import PlayerView
from miai.testing.findings import Findings

MAX_REACHED = 20_000
"""Most objects that are visited in search of a state."""

_LEAVES = (str, bytes, int, float, complex, type, ModuleType, BuiltinFunctionType)


def check_unreachable(state: State, views: Sequence[PlayerView], findings: Findings) -> None:
    """No path of attributes leads from what a player holds to a state of the game in progress."""
    for view in views:
        if path := path_to_state(view):
            message = f"player {view.player}'s view leads to a state: view{path}"
            findings.add("state-reachable", message, state.history())


def path_to_state(root: object) -> str:
    """Return the path from an object to a state in which something was played; empty for none.

    Attributes, slots, items, elements, closures and the objects of bound methods are followed;
    modules, classes and the globals of functions are not. At most `MAX_REACHED` objects are
    visited, nearest first.
    """
    seen: dict[int, object] = {}  # holds what was visited, so that no id is used twice
    frontier: deque[tuple[object, str]] = deque([(root, "")])
    while frontier and len(seen) < MAX_REACHED:
        item, path = frontier.popleft()
        if id(item) in seen or item is None or isinstance(item, _LEAVES):
            continue
        seen[id(item)] = item
        if isinstance(item, State) and item.move_number() > 0:
            return path
        frontier.extend((part, path + step) for step, part in _parts(item))
    return ""


def _parts(item: object) -> Iterator[tuple[str, object]]:
    if isinstance(item, Mapping):
        yield from ((f"[{key!r}]", value) for key, value in item.items())
    elif isinstance(item, (list, tuple, set, frozenset, deque)):
        yield from ((f"[{index}]", value) for index, value in enumerate(item))
    elif isinstance(item, MethodType):
        yield ".__self__", item.__self__
    elif isinstance(item, FunctionType):
        for name, cell in zip(item.__code__.co_freevars, item.__closure__ or (), strict=True):
            yield f"<{name}>", cell.cell_contents
    for name in _attributes(item):
        try:
            yield f".{name}", object.__getattribute__(item, name)
        except AttributeError:  # an empty slot
            continue


def _attributes(item: object) -> list[str]:
    """Return the names of an object's own attributes; properties are not called."""
    names = set(getattr(item, "__dict__", {}))
    for base in type(item).__mro__:
        slots: str | Sequence[str] = base.__dict__.get("__slots__", ())
        names.update([slots] if isinstance(slots, str) else slots)
    return sorted(names - {"__dict__", "__weakref__"})
