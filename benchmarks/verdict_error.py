"""How often does the decision rule accept an offer that is exactly at its bar, and what does a good one need?

    python benchmarks/verdict_error.py [--runs 4000] [--quick] [--repeats]

Simulates offers, lets the product's own judge decide them, and prints Markdown: the share of wrong
acceptances beside other rules' (point value, Wilson, bootstrap, LoadGen's early stopping), the share of right
ones, and the requests that each rule needed. The exit status is 1 if the judge wrongly accepts more than 6 %
+ 2 standard errors anywhere, nominal 5 %. The full run takes about half an hour of one core; progress goes to
stderr.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from offers import RULE, Block, Flags, Floats, Offer, Outages, Queue, offers, verdicts
from repeats import Case, cases
from scipy import special

BARS = tuple(map(Decimal, ("0.9", "0.95", "0.99")))
BETTER = tuple(map(Decimal, ("0.995", "0.999")))  # true shares, against a bar of 0.99
SIZES = (300, 1_000, 2_000, 3_000, 10_000, 20_000, 50_000)
LONGEST = 100_000  # a better offer's run
LONG = 20_000  # beyond it a quarter of the runs
ALLOWED = 0.06
STALLS = 10  # a run that holds fewer, on average, cannot tell how rare they are; no cell of the gate
RIVALS = ("point value", "Wilson", "bootstrap", "LoadGen")
BLOCK = 1_500_000  # values simulated at a time


def others(block: Block, n: int, bar: Decimal, rng: np.random.Generator) -> list[Flags]:
    """Decide by the other rules, `(runs,)` each, in the order of `RIVALS`; nominal 5 %, LoadGen's 1 %."""
    good, q = block.good(n), float(bar)
    z = float(special.ndtri(RULE.confidence))
    lowest = np.quantile(block.resampled(n, rng), 1 - RULE.confidence, axis=1, method="inverted_cdf")
    return [
        good >= math.ceil(Fraction(bar) * n),
        good / n - q >= z * math.sqrt(q * (1 - q) / n),
        lowest >= q,
        # loadgen/early_stopping.cc: of h within and t over the limit, I_p(h, t + 1) is below 1 - 0.99
        (good > 0) & (special.betainc(np.maximum(good, 1), n - good + 1, q) < 0.01),
    ]


def most_allowed(runs: int) -> float:
    """Give the share of wrong acceptances above which a cell of so many runs has failed."""
    return ALLOWED + 2 * math.sqrt(ALLOWED * (1 - ALLOWED) / runs)


@dataclass
class Cell:
    """One line of the first table. `accepted`: by the judge and by the other rules."""

    offer: Offer
    bar: Decimal
    n: int
    runs: int = 0
    accepted: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1 + len(RIVALS), dtype=np.int64))
    rejected: int = 0  # wrongly: at the bar is good enough
    unexempted: int = 0  # accepted by the judge without the exemption
    far: int = 0

    @property
    def gated(self) -> bool:
        """Whether a run of this length can be expected to show how often requests stall."""
        return self.n * self.offer.events(self.bar) >= STALLS

    @property
    def failed(self) -> bool:
        """Whether the judge's rate is above what is allowed."""
        return self.gated and self.accepted[0] / self.runs > most_allowed(self.runs)


def blocks(
    offer: Offer, share: Decimal, runs: int, n: int, rng: np.random.Generator
) -> Iterator[tuple[int, Block]]:
    """Draw `runs` runs of `n` requests, a few at a time."""
    while runs > 0:
        count = min(runs, max(1, BLOCK // n))
        yield count, offer.draw(rng, count, n, share)
        runs -= count


def at_bar(
    offer: Offer, bar: Decimal, sizes: Sequence[int], runs: int, rng: np.random.Generator
) -> list[Cell]:
    """Judge runs of an offer whose true share is the bar; shorter runs are beginnings of longer ones."""
    cells = {n: Cell(offer, bar, n) for n in sizes}
    few = [n for n in cells if n <= LONG]
    long = max(1, runs // 4) if len(few) < len(cells) else 0
    for wanted, total in ((list(cells), long), (few, runs - long)):
        for count, block in blocks(offer, bar, total, max(wanted), rng):
            for n in wanted:
                cell, ours, far = cells[n], block.judged(n, bar, RULE), block.far(n)
                plain = block.judged(n, bar, replace(RULE, far=math.inf)) if far.any() else ours
                cell.runs += count
                cell.accepted += [int(each.sum()) for each in (ours[0], *others(block, n, bar, rng))]
                cell.rejected += int(ours[1].sum())
                cell.unexempted += int(plain[0].sum())
                cell.far += int(far.sum())
    return list(cells.values())


def needed(
    offer: Offer, share: Decimal, sizes: Sequence[int], runs: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Judge runs of an offer that is better than its bar of 0.99.

    Returns how often the judge accepts, `(sizes,)`, and for each rule the mean of the first size at which a
    run, as far as it had come, is accepted, `(1 + rivals,)`; a run that never is counts as one of the last.
    """
    bar, first, often = BARS[-1], np.zeros(1 + len(RIVALS)), np.zeros(len(sizes))
    for _, block in blocks(offer, share, runs, max(sizes), rng):
        table = np.array(
            [[block.judged(n, bar, RULE)[0], *others(block, n, bar, rng)] for n in sizes]
        )  # (sizes, rules, runs)
        often += table[:, 0].sum(axis=1)
        table[-1] = True
        first += np.array(sizes)[table.argmax(axis=0)].sum(axis=1)
    return often / runs, first / runs


def print_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print Markdown; the first column is text."""
    names = list(head)
    print("| " + " | ".join(names) + " |\n|---|" + "---:|" * (len(names) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def wrong(cell: Cell) -> list[str]:
    """Write one cell of the first table."""
    rates = [f"{count / cell.runs:.1%}" for count in cell.accepted]
    if cell.failed:
        rates[0] = f"**{rates[0]}**"
    elif not cell.gated:
        rates[0] = f"({rates[0]})"
    return [cell.offer.title, f"{cell.bar:.0%}", f"{cell.n:,}", *rates, f"{cell.rejected / cell.runs:.1%}"]


def told(case: Case, runs: int, rng: np.random.Generator) -> tuple[list[str], bool]:
    """Judge runs of a case, write its row, and say whether it is accepted too often."""
    decided = [verdicts(case.draw(rng)) for _ in range(runs)]
    accepted, rejected = (sum(each) / runs for each in zip(*decided, strict=True))
    too_often = case.gated and accepted > most_allowed(runs)
    rate = f"**{accepted:.1%}**" if too_often else f"{accepted:.1%}" if case.gated else f"({accepted:.1%})"
    return [case.title, rate, f"{rejected:.1%}"], too_often


def tell_repeated(runs: int) -> tuple[int, int]:
    """Print the table of what repeats, is shared, or is skewed; count the cells above the limit, and all."""
    known = cases()
    print("What repeats, is shared, or is skewed; the offer is exactly at the bar.\n")
    rows = [told(case, runs, np.random.default_rng([3, i])) for i, case in enumerate(known)]
    print_table(("offer", "this rule", "this rule rejects"), (row for row, _ in rows))
    return sum(too_often for _, too_often in rows), sum(case.gated for case in known)


def at_far_limit(cell: Cell) -> list[str]:
    """Write one cell of the second table."""
    counts = (cell.accepted[0], cell.unexempted, cell.far)
    return [*wrong(cell)[:3], *(f"{count / cell.runs:.1%}" for count in counts)]


def main() -> int:
    """Print the tables; 1 if the judge is too generous anywhere."""
    parser = argparse.ArgumentParser(description="Simulate offers at and above their bars.")
    parser.add_argument("--runs", type=int, default=4_000, help="a cell; a quarter of it for long runs")
    parser.add_argument(
        "--quick", action="store_true", help="200 runs of at most 10,000 requests, about a minute"
    )
    parser.add_argument("--repeats", action="store_true", help="the last table alone, about two minutes")
    asked = parser.parse_args()
    runs = 200 if asked.quick else asked.runs
    sizes = SIZES[:-2] if asked.quick else SIZES
    ladder = sizes if asked.quick else (*SIZES, LONGEST)
    started = time.monotonic()

    def progress(what: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {what}", file=sys.stderr, flush=True)

    if asked.repeats:
        above, gated = tell_repeated(runs // 4)
        print(f"{above} of {gated} cells above 6% + 2 standard errors.")
        return 1 if above else 0
    cells: list[Cell] = []
    for i, offer in enumerate(offers()):
        for j, bar in enumerate(BARS):
            progress(f"at the bar: {offer.title}, {bar:.0%}")
            cells += at_bar(offer, bar, sizes, runs, np.random.default_rng([1, i, j]))
    print("Wrongly accepted, and in the last column wrongly rejected: the offer is exactly at the bar.\n")
    print_table(("offer", "bar", "n", "this rule", *RIVALS, "this rule rejects"), map(wrong, cells))
    print("The same where the limit was far above the p90 of any run; elsewhere it was so in none.\n")
    print_table(
        ("offer", "bar", "n", "this rule", "without allowance for far limits", "runs with a far limit"),
        (at_far_limit(cell) for cell in cells if cell.far),
    )

    better: dict[tuple[str, str], tuple[Floats, Floats]] = {}
    for i, offer in enumerate(offers()):
        if isinstance(offer, Outages) or (isinstance(offer, Queue) and (offer.empty or offer.slow)):
            continue
        for j, share in enumerate(BETTER):
            progress(f"better than the bar: {offer.title}, {share:.1%}")
            rng = np.random.default_rng([2, i, j])
            better[offer.title, f"{share:.1%}"] = needed(offer, share, ladder, max(1, runs // 4), rng)
    print("Rightly accepted by this rule: the bar is 99%, the true share better; by requests.\n")
    print_table(
        ("offer", "true", *(f"{n:,}" for n in ladder)),
        ([*key, *(f"{each:.0%}" for each in often)] for key, (often, _) in better.items()),
    )
    print(f"Mean requests until a run is accepted, of the sizes above; {ladder[-1]:,} where it never is.\n")
    print_table(
        ("offer", "true", "this rule", *RIVALS),
        ([*key, *(f"{each:,.0f}" for each in first)] for key, (_, first) in better.items()),
    )

    progress("at the bar: what repeats, is shared, or is skewed")
    above, gated = tell_repeated(runs // 4)
    above, gated = above + sum(cell.failed for cell in cells), gated + sum(cell.gated for cell in cells)
    print(f"{above} of {gated} cells above 6% + 2 standard errors.")
    progress("done")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
