"""A plan before the run: how many requests each bar needs, and what that takes."""

from __future__ import annotations

from .needs import BarPlan, Numbers, Sample, State
from .pilots import Pilot, pilot_of
from .plans import Effort, Plan, plan

__all__ = ["BarPlan", "Effort", "Numbers", "Pilot", "Plan", "Sample", "State", "pilot_of", "plan"]
