"""Whether a judge may decide: a language model's opinion counts where people are shown to agree with it."""

from __future__ import annotations

from pytest_procure.stats import round_outward, share_bounds

from .execution import Execution

#: Of the bound of its agreement, one-sided.
CONFIDENCE = 0.95


#: What people call an answer.
KINDS = ("right", "wrong")


def agreement(agreed: int, of: int) -> float:
    """At least this share of its opinions are those of people: exact binomial bound, one-sided 95 %."""
    return round_outward(share_bounds(agreed, of, confidence=CONFIDENCE)).low if of else 0.0


def judge_fault(metric: str, run: Execution) -> str:
    """Say why nothing may rest on the judge of a metric; nothing where it may, or where nobody judges."""
    told = run.slice.describe()
    judge = told.get("judges", {}).get(metric)
    if judge is None:
        return ""
    found = told.get("judged", {}).get(metric)
    if found is None:
        return "no answer was given that its judge could be asked about"
    if not judge["labels"]:
        return (
            f"its judge, {judge['judge']}, was held against no labels of people, and nothing rests on a "
            "judge alone; give `llm_judge(..., labels=)`"
        )
    for kind in KINDS:
        agreed, of = found[kind]
        least = agreement(agreed, of)
        if least < judge["agreement"]:
            return (
                f"its judge, {judge['judge']}, agreed with people on {agreed} of {of} answers that they call "
                f"{kind}, which shows {least:.1%} or more; it may decide from {judge['agreement']:.1%} on"
            )
    return ""
