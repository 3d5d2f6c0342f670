"""Scenarios: when queries arrive, and under which conditions they are served.

offline        everything is there at the start
single_stream  closed loop: one query at a time, the next when the last is answered
multi_stream   closed loop: the same with N samples a query
closed_loop    closed loop: N users, each with one query at a time and a pause after each answer
server         open loop: arrivals at a declared rate, whether or not the candidate keeps up
burst          open loop: the rate jumps from a base to a peak and back, again and again
ramp           open loop: the rate rises or falls, evenly or in steps
replay         open loop: the arrivals of a recorded trace
sessions       partly open: sessions arrive at a declared rate, each asks turn after turn

The names are MLPerf's where MLPerf has one. Everything here is pure: parameters and a seed give the same
schedule and the same sample order, to the byte, in every process.
"""

from .arrivals import arrivals
from .lengths import MAX_QUERIES, MAX_SAMPLES_BY_DURATION, is_steady, queries, rate, sessions
from .orders import conversation_order, order_of, repeat_share, sample_order
from .profiles import Profile, profile_of
from .scenario import Scenario
from .traces import Trace

__all__ = [
    "MAX_QUERIES",
    "MAX_SAMPLES_BY_DURATION",
    "Profile",
    "Scenario",
    "Trace",
    "arrivals",
    "conversation_order",
    "is_steady",
    "order_of",
    "profile_of",
    "queries",
    "rate",
    "repeat_share",
    "sample_order",
    "sessions",
]
