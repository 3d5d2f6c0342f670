"""Published MLPerf results as context, never as verdict.

    from pytest_procure.mlperf import compare, load_results

    published = load_results("summary_results.json")
    ours = published.select("5.1-0069/llama2-70b-99.9/Server")
    print(compare(ours, published.select("5.1-0075/llama2-70b-99.9/Server")).sentence)

Nothing here touches the network, and nothing here can carry a verdict: a `Score` refuses to be compared or
calculated with.
"""

from __future__ import annotations

from .benchmarks import Benchmark, facts
from .citing import Citation, check_wording, cite
from .comparing import Comparison, Movement, Movements, compare, movement
from .context import Context, mlperf_context
from .deriving import Derived, derive
from .distance import Distance, Task, distance
from .errors import MlperfError, PublishedScoreError
from .records import Finding, ForeignResult, Log, Result, Run, System
from .results import Results, load_results
from .rules import Applied, Rule, rules
from .score import Score
from .shortlist import Filters, Shortlist, shortlist
from .spread import Spreads, scenario_spread

__all__ = [
    "Applied",
    "Benchmark",
    "Citation",
    "Comparison",
    "Context",
    "Derived",
    "Distance",
    "Filters",
    "Finding",
    "ForeignResult",
    "Log",
    "MlperfError",
    "Movement",
    "Movements",
    "PublishedScoreError",
    "Result",
    "Results",
    "Rule",
    "Run",
    "Score",
    "Shortlist",
    "Spreads",
    "System",
    "Task",
    "check_wording",
    "cite",
    "compare",
    "derive",
    "distance",
    "facts",
    "load_results",
    "mlperf_context",
    "movement",
    "rules",
    "scenario_spread",
    "shortlist",
]
