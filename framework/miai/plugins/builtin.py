"""The framework's own components, registered through the same hook as any plugin's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl

if TYPE_CHECKING:
    from miai.plugins.registry import Registry

_COMPONENTS = """
miai.agent
  agent random RandomAgent
    Plays uniformly over its legal actions
miai.process.program_agent
  agent program ProgramAgent ProgramParameters foreign
    A program in any language, by JSON lines on its standard input and output
miai.process.program_game
  game program ProgramGame ProgramGameParameters
    The rules of a program in any language, by JSON lines
miai.process.program_game miai.search.evaluators
  evaluator random-rollout ProgramRollout RandomRolloutParameters game=program
    Mean returns of uniformly random games, which the program plays if it can
miai.plugins.agent_files
  agent file file_agent FileAgentParameters foreign
    A class in a Python file that belongs to no plugin
miai.cli.people
  agent human HumanAgent
    A person at the terminal; for `miai play`
miai.search.worlds
  agent ismcts Ismcts IsmctsParameters
    Information-set MCTS, single- or multi-observer, over worlds of its belief
  agent pimc Pimc PimcParameters
    MCTS in several worlds of its belief, each with perfect information
  belief enumerated enumerated_belief EnumeratedBeliefParameters
    Every world that a player considers possible, enumerated; for small games
  belief sampled sampled_belief SampledBeliefParameters
    Worlds that a player considers possible, a sample where there are many
miai.beliefs.agent
  agent belief-minimax BeliefMinimax BeliefMinimaxParameters
    Best guaranteed value over its belief, against an opponent that sees everything
miai.search.mcts
  search mcts Mcts MctsParameters
    Monte-Carlo tree search: UCT or PUCT, any number of players, chance, a solver
miai.search.alphabeta
  search alpha-beta AlphaBeta AlphaBetaParameters
    Alpha-beta for two players of constant sum: iterative deepening, chance
miai.search.evaluators
  evaluator random-rollout RandomRollout RandomRolloutParameters
    Mean returns of uniformly random games
  evaluator zero ZeroEvaluator
    Equal values for all players, uniform priors
miai.record_reader
  record-format jsonl JsonLines
    Game records as JSON lines, lossless
miai.playing.openings
  opening-reader moves MovesReader
    One opening per line, as moves in the game's notation
miai.playing.agreement
  adjudicator resign-agreement ResignAgreement ResignAgreementParameters
    Loss for the player whom both players consider lost for several moves
  adjudicator draw-agreement DrawAgreement DrawAgreementParameters
    Draw when both players consider the game even for several moves
  adjudicator solved SolvedAdjudicator SolvedParameters
    Result that a search to the end of the game proves within a budget
miai.beliefs.recursion
  belief-search recursive recursive BeliefSearchParameters
    Alpha-beta over beliefs in plain Python, for any problem and any bounds
  belief-search compiled compiled CompiledSearchParameters
    Compiled alpha-beta over beliefs, for enumerable problems; needs miai[sketches]
miai.beliefs.bounds
  bounds none none
    Records nothing
  bounds table table BoundsParameters
    A table of beliefs, which recognises equal ones
  bounds singles singles BoundsParameters
    A table; each state of a belief is tried alone first
  bounds exact exact BoundsParameters
    Every subset and superset, by antichains
  bounds cores cores CoresParameters
    Antichains of failing cores and winning closures; singles
miai.beliefs.sketches
  bounds minhash minhash MinHashParameters
    Subsets and supersets by estimated resemblance, then tested exactly or not; needs miai[sketches]
miai.beliefs.retention
  retention none KeepFirst
    Keeps the first entries
  retention lru LeastRecentlyUsed
    Forgets the least recently used entry
  retention space-saving SpaceSaving
    Forgets the least used entry, by Space-Saving counters
  retention count-sketch MostFrequent
    Forgets the entry that a Count-Sketch estimates as the least frequent
"""


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the components that serve any game, and those of games that are programs."""
    registry.add_all(_COMPONENTS)
