"""Clocks in GTP: which commands tell an engine its time.

GTP knows main time with Canadian overtime, in whole seconds; extensions know more. What a control
becomes, `m` its main time, `p` its period and `i` its increment:

=========  ====================  ==============================  =============================
control    kata-time_settings    kgs-time_settings               time_settings
=========  ====================  ==============================  =============================
none       none                  none                            0 1 0
per-move   canadian 0 m 1        canadian 0 m 1                  0 m 1
absolute   absolute m            absolute m                      m 0 0
fischer    fischer m i                                           m - i, i for one stone
byo-yomi   byoyomi m p periods   byoyomi m p periods             m, p for one stone
=========  ====================  ==============================  =============================

What an engine is told is never more than it has, but where a whole second is the least that GTP
can say: times are rounded down, a period to at least 1 second. Under ``time_settings`` the
increment of a Fischer clock is one more Canadian period that every move earns anew, and periods of
Japanese byo-yomi beside the last one are a reserve that the engine does not hear of.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, TypeAlias

from miai.clock import ClockReading, TimeControl

Dialect: TypeAlias = Literal["kata", "kgs", "gtp"]

_DIALECTS: Final[tuple[tuple[Dialect, str], ...]] = (
    ("kata", "kata-time_settings"),
    ("kgs", "kgs-time_settings"),
    ("gtp", "time_settings"),
)


def dialect_for(control: TimeControl, known: Collection[str]) -> Dialect | None:
    """Return how a control is best told to an engine; None when it knows no way.

    Args:
      known: the engine's commands.
    """
    for dialect, command in _DIALECTS:
        if command in known and not (dialect == "kgs" and control.kind == "fischer"):
            return dialect
    return None


def time_settings(control: TimeControl, dialect: Dialect) -> str:
    """Return the command that tells an engine its time control."""
    if dialect == "gtp":
        return f"time_settings {_plain_settings(control)}"
    number = _whole if dialect == "kgs" else _decimal
    main = number(control.seconds)
    settings = {
        "none": "none",
        "per-move": f"canadian 0 {_period(control.seconds, dialect)} 1",
        "absolute": f"absolute {main}",
        "fischer": f"fischer {main} {number(control.increment)}",
        "byo-yomi": f"byoyomi {main} {_period(control.period_seconds, dialect)} {control.periods}",
    }
    return f"{dialect}-time_settings {settings[control.kind]}"


def time_left(reading: ClockReading, color: str, dialect: Dialect) -> str:
    """Return the command that tells an engine what is left on its clock; empty without a clock.

    Args:
      color: ``b`` or ``w``, whose clock it is.
    """
    if reading.main is None:
        return ""
    seconds, stones = _left(reading, reading.main, dialect)
    shown = _decimal(seconds) if dialect == "kata" else _whole(seconds)
    return f"time_left {color} {shown} {stones}"


def _plain_settings(control: TimeControl) -> str:
    main, period = control.seconds, 0.0
    if control.kind == "none":
        return "0 1 0"
    if control.kind == "per-move":
        main, period = 0.0, control.seconds
    elif control.kind == "fischer":
        main, period = max(0.0, main - control.increment), control.increment
    elif control.kind == "byo-yomi":
        period = control.period_seconds
    if period == 0 or (control.kind == "fischer" and period < 1):
        return f"{_whole(control.seconds)} 0 0"
    return f"{_whole(main)} {_period(period, 'gtp')} 1"


def _left(reading: ClockReading, main: float, dialect: Dialect) -> tuple[float, int]:
    """Return seconds and stones (or periods, as kgs and kata have it) of `time_left`."""
    control = reading.control
    if control.kind == "per-move":
        return main, 1
    if control.kind == "byo-yomi" and (main == 0 or (main < 1 and dialect != "kata")):
        return control.period_seconds, 1 if dialect == "gtp" else reading.periods
    if control.kind == "fischer" and dialect == "gtp" and control.increment >= 1:
        reserve = main - control.increment
        return (reserve, 0) if reserve >= 1 else (main, 1)
    return main, 0


def _period(seconds: float, dialect: Dialect) -> str:
    return _decimal(seconds) if dialect == "kata" else str(max(1, int(seconds)))


def _whole(seconds: float) -> str:
    return str(int(seconds))


def _decimal(seconds: float) -> str:
    return f"{int(seconds * 1000) / 1000:.3f}".rstrip("0").rstrip(".")
