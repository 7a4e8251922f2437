"""Fixtures for authors of plugins; pytest finds them as soon as miai is installed.

::

    def test_my_game(miai_check_game):
        miai_check_game("mygame", {"board_size": 5}, games=50)

    def test_my_agent(miai_check_agent):
        miai_check_agent("myagent", "tic_tac_toe", {"depth": 3})

    def test_my_pictures(miai_check_renderer):
        miai_check_renderer("mygame", {"board_size": 5})

Each test has a seed of its own, the same in every run; it is printed when the test fails.
``--miai-seed=N`` sets it, ``--miai-seed=random`` draws another one in every run.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

if TYPE_CHECKING:
    from miai import Game
    from miai.testing import ConformanceReport
    from miai.testing.agent_checks import AgentFactory


ConformanceCheck: TypeAlias = "Callable[..., ConformanceReport]"
"""Type of the fixtures `miai_check_game`, `miai_check_agent` and `miai_check_renderer`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--miai-seed``."""
    parser.getgroup("miai").addoption(
        "--miai-seed",
        metavar="N",
        type=lambda text: text if text == "random" else int(text),
        help="seed of the tests that use miai_seed: a number, or 'random' for a new one each time; "
        "by default every test has one of its own",
    )


@pytest.fixture
def miai_seed(request: pytest.FixtureRequest) -> int:
    """A seed for the test, printed when the test fails."""
    option = request.config.getoption("--miai-seed")
    if option is None:
        seed = zlib.crc32(request.node.nodeid.encode())
    else:
        seed = random.SystemRandom().getrandbits(32) if option == "random" else int(option)
    request.node.add_report_section("setup", "miai seed", f"repeat with: --miai-seed={seed}")
    return seed


@pytest.fixture
def miai_check_game(miai_seed: int) -> ConformanceCheck:
    """`miai.testing.check_game`, by the test's seed.

    Takes a game, or its name and parameters, and whatever `check_game` takes by keyword.
    """
    return partial(_check, "check_game", miai_seed)


@pytest.fixture
def miai_check_agent(miai_seed: int) -> ConformanceCheck:
    """`miai.testing.check_agent`, by the test's seed.

    Takes a factory of agents, or the name of an agent and as third argument its parameters; a
    game or its name; and whatever `check_agent` takes by keyword.
    """

    def check(
        agent: AgentFactory | str,
        game: Game | str,
        parameters: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> ConformanceReport:
        from miai.api import make_agent
        from miai.testing import check_agent

        def make(game: Game) -> Any:
            assert isinstance(agent, str)
            return make_agent(agent, game, **dict(parameters or {}))

        factory = make if isinstance(agent, str) else agent
        return check_agent(factory, _game(game, None), **{"seed": miai_seed, **more})

    return check


@pytest.fixture
def miai_check_renderer(miai_seed: int) -> ConformanceCheck:
    """`miai.testing.check_renderer`, by the test's seed.

    Takes a game, or its name and parameters, and whatever `check_renderer` takes by keyword.
    """
    return partial(_check, "check_renderer", miai_seed)


def _check(
    name: str,
    seed: int,
    /,
    game: Game | str,
    parameters: Mapping[str, Any] | None = None,
    **more: Any,
) -> ConformanceReport:
    import miai.testing

    check: ConformanceCheck = getattr(miai.testing, name)
    return check(_game(game, parameters), **{"seed": seed, **more})


def _game(game: Game | str, parameters: Mapping[str, Any] | None) -> Game:
    from miai.api import load_game

    return load_game(game, **dict(parameters or {})) if isinstance(game, str) else game
