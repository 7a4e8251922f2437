"""Making the engine that an agent's parameters name."""

from __future__ import annotations

from miai_rbc.agent_parameters import EngineParameters
from miai_rbc.engines.protocol import ChessEvaluator


def make_engine(given: EngineParameters) -> ChessEvaluator:
    """Return the engine.

    Raises:
      AgentUnavailableError: its program is missing.
    """
    if given.engine == "stockfish":
        from miai_rbc.engines.stockfish import StockfishEngine, StockfishParameters

        return StockfishEngine(
            StockfishParameters(command=given.command, depth=given.depth, processes=given.processes)
        )
    from miai_rbc.engines.kernel import KernelEngine, KernelParameters

    return KernelEngine(KernelParameters(depth=given.depth))
