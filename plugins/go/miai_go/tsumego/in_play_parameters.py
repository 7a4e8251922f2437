"""The parameters of searches that ask about endangered groups.

They are kept from what asks, so that listing them compiles and imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from miai.plugins.parameters import Parameters, parameter

if TYPE_CHECKING:
    from miai_go.tsumego.in_play import InPlay


class InPlayParameters(Parameters):
    """Who is asked about life and death at the root of a search, and how much."""

    tsumego: Literal["off", "net", "solver"] = parameter(
        "off",
        help="Who is asked about enclosed groups before a move: nobody, the shipped network or "
        "the solver; what they say is favoured at the root, never forced",
    )
    tsumego_nodes: int = parameter(
        50_000,
        ge=100,
        le=1_000_000_000,
        unit="positions",
        help="What the solver may look at before a move, for all groups together",
    )

    def asked(self) -> InPlay | None:
        """Return who is asked, all that it takes loaded; None for nobody.

        Raises:
          WeightsError: the shipped network cannot be read.
        """
        if self.tsumego == "off":
            return None
        from miai_go.tsumego.in_play import InPlay
        from miai_go.tsumego.in_play_asking import asking

        return InPlay(asking(self.tsumego), nodes=self.tsumego_nodes)
