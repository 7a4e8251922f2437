"""Making the engine that an agent's parameters name."""

from __future__ import annotations

from miai_rbc.agent_parameters import DEEPEST, EngineParameters
from miai_rbc.engines.protocol import ChessEvaluator


def make_engine(given: EngineParameters) -> ChessEvaluator:
    """Return the engine.

    Raises:
      AgentUnavailableError: its program is missing.
    """
    if given.engine == "stockfish":
        from miai_rbc.engines.stockfish import StockfishEngine, StockfishParameters

        return StockfishEngine(
            StockfishParameters(
                command=given.command,
                depth=given.search_depth,
                nodes=given.nodes,
                seconds=given.movetime,
                processes=given.processes,
                hash_mb=given.hash_mb,
                threads=given.engine_threads,
                longest=given.longest,
            )
        )
    from miai_rbc.engines.kernel import KernelEngine, KernelParameters

    depth = DEEPEST if given.search_depth is None else given.search_depth
    return KernelEngine(KernelParameters(depth=depth, nodes=given.nodes, table_mb=given.hash_mb))
