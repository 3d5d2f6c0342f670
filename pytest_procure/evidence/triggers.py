"""What asks for a new run: the sealed triggers, which of them a program can check, and how they are read.

A trigger of the suite's own (`procure_retest`) that is written `prices older than N days` is checked by the
dates of the price sheets. Other words of its own are for people: a program can only repeat them.
"""

from __future__ import annotations

import re

MODEL = "the model, its runtime or its precision"
PRICES = "the price sheet"
DATA = "the data, or how answers are scored"
HARDWARE = "the hardware or its driver"
SPEC = "this spec"
#: What asks for a new run, whatever the suite adds: a result is about these and nothing else.
ALWAYS = (MODEL, PRICES, DATA, HARDWARE, SPEC)

_OLDER = re.compile(r"prices? older than ([1-9][0-9]{0,4}) days?", re.IGNORECASE)


def oldest_prices(trigger: str) -> int | None:
    """Give after how many days a trigger asks for new prices; None where it is about something else."""
    found = _OLDER.fullmatch(trigger.strip().rstrip("."))
    return None if found is None else int(found[1])
