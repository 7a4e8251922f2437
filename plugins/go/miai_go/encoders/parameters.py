"""Parameters of the encoders; importing them compiles nothing."""

from __future__ import annotations

from miai.plugins.parameters import Parameters, parameter


class ZeroEncoderParameters(Parameters):
    """Parameters of `ZeroEncoder`."""

    history: int = parameter(
        8, ge=1, le=8, unit="positions", help="Positions shown, the present one included"
    )
    komi: bool = parameter(False, help="Add a plane of the points that the player to move is given")
    legal: bool = parameter(False, help="Add a plane of the points where the mover may play")
    ko: bool = parameter(False, help="Add a plane of the point that may not be retaken now")
