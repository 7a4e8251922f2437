"""``miai warm``: kernels compiled before anybody waits for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any

import typer

from miai.errors import AgentError, UnknownComponentError, near_matches
from miai.plugins.kinds import AGENT
from miai.plugins.loader import plugin_host

if TYPE_CHECKING:
    from miai.plugins.registry import Component

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Plugins or agents (default: all plugins)."),
]


def add_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("warm")(warm)


def warm(names: Names = None) -> None:
    """Compile kernels now, which the first games would wait for.

    All processes of a user share them. An edit of a kernel or another numba compiles them again.
    """
    from miai.process.compilations import missing_of, prepare
    from miai.process.kernel_caches import is_unfilled
    from miai.process.processors import available_processors
    from miai.progress import make_progress

    groups, agents = _chosen(names or [])
    missing = missing_of(groups)
    unfilled = [agent for agent in agents if is_unfilled(str(agent.game), agent.name, {})]
    if not missing and not unfilled:
        print("Nothing is left to compile.")
        return
    progress = make_progress("Compiling kernels", unit="groups")
    progress.begin(done=0, total=len(missing) + len(unfilled))
    failed = list[str]()

    def finished(name: str, ready: bool) -> None:
        progress.advance(name)
        progress.refresh()
        if not ready:
            failed.append(name)

    def fill(agent: Component[Any]) -> None:
        try:
            _fill(agent)
        except AgentError as error:  # such as one whose weights are not installed
            progress.note(f"{agent.name}: {error}")
        finished(f"{agent.game}: {agent.name}", True)

    try:
        prepare(missing, finished)
        with ThreadPoolExecutor(available_processors()) as pool:
            list(pool.map(fill, unfilled))
    finally:
        progress.close()
    print(f"Compiled for {progress.done - len(failed)} of {progress.total}.")
    if failed:
        print(f"Failed: {', '.join(failed)}; the first game that needs them says why.")
        raise typer.Exit(2)


def _fill(agent: Component[Any]) -> None:
    """Start an agent once, which fills the caches of what it calls. Raises `AgentError`."""
    from miai.process.agent_process import AgentProcess

    process = AgentProcess(str(agent.game), {}, agent.name, {}, name=agent.name, start_timeout=600)
    try:
        process.start()
    finally:
        process.close()


def _chosen(names: list[str]) -> tuple[list[str], list[Component[Any]]]:
    """Return the groups of kernels and the other agents that names stand for.

    Raises `UnknownComponentError`.
    """
    from miai.process.compilations import families_of, groups_of

    host = plugin_host()
    agents = [
        agent
        for agent in host.registry.components(AGENT, adapted=True)
        if agent.game and not agent.needs_parameters and not agent.foreign
    ]
    plugins = {plugin.name: plugin for plugin in host.plugins if plugin.state == "loaded"}
    if unknown := set(names) - {agent.name for agent in agents} - plugins.keys():
        name = min(unknown)
        known = near_matches(name, {*plugins, *(agent.name for agent in agents)})
        raise UnknownComponentError(f"no plugin or agent is called '{name}'. {known}")
    packages = [name for name in names or plugins if name in plugins]
    chosen = [agent for agent in agents if agent.name in names or agent.plugin in packages]
    groups = [group for agent in chosen for group in agent.kernels]
    families = {
        name: families_of(plugins[name].target.partition(".")[0])
        for name in {*packages, *(agent.plugin for agent in chosen)}
    }
    for name in packages:
        groups += [group for family in families[name] for group in groups_of(family)]
    others = [agent for agent in chosen if families[agent.plugin] and not agent.kernels]
    return list(dict.fromkeys(groups)), others
