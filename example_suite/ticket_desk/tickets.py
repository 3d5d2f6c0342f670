"""The desk's tickets: written by a seeded generator, with the reference number that each is about.

    python example_suite/ticket_desk/tickets.py

It writes `tickets.jsonl`; the committed file is what it gives.
"""

import json
import random
import re
from pathlib import Path

FILE = Path(__file__).with_name("tickets.jsonl")
COUNT, SEED = 150, 7
OPENINGS = ("Hello, ", "Good morning. ", "Dear team, ", "Hi there, ", "")
BODIES = {
    "paid twice": "the invoice {number} was paid twice, please refund {amount} euros.",
    "never came": "I never received order {number}, it cost {amount} euros.",
    "broken": "order {number} arrived broken and I want {amount} euros back.",
    "wrong amount": "could you check invoice {number}? It says {amount} euros but we agreed on less.",
    "cancelled": "please cancel order {number} and return the {amount} euros.",
}
LETTERS, DIGITS = "ABCDEFGHJKLMNPQRSTUVWXYZ", "0123456789"
FORM = re.compile(r"[A-Z]{2}-\d{4}")

#: What the desk tells the model before each ticket.
INSTRUCTION = "Copy the reference number from the ticket. Answer with the number only."
EXAMPLES = (
    ("Hi, invoice KX-4471 for 88 euros was charged two times.", "KX-4471"),
    ("My order PL-0093 of 15 euros is late.", "PL-0093"),
    ("Dear support, please refund 230 euros for order ZD-7718.", "ZD-7718"),
)


def write():
    """Write the tickets. Only `random()` is drawn, whose numbers are the same on every Python."""
    draw = random.Random(SEED)  # noqa: S311 - no cryptography here

    def pick(choices):
        return choices[int(draw.random() * len(choices))]

    lines = []
    for _ in range(COUNT):
        number = pick(LETTERS) + pick(LETTERS) + "-" + "".join(pick(DIGITS) for _ in range(4))
        kind, amount = pick(tuple(BODIES)), 9 + int(draw.random() * 972)
        text = pick(OPENINGS) + BODIES[kind].format(number=number, amount=amount)
        lines.append(json.dumps({"ticket": text, "number": number, "kind": kind}))
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read():
    """Give the tickets, as mappings."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def messages(ticket):
    """Give the conversation that asks for a ticket's number."""
    told = [{"role": "system", "content": INSTRUCTION}]
    for text, number in EXAMPLES:
        told += [{"role": "user", "content": text}, {"role": "assistant", "content": number}]
    return [*told, {"role": "user", "content": ticket}]


def is_exact(answer, number):
    """Whether an answer is the number, and nothing else."""
    return answer.strip() == number


def is_well_formed(answer, number):
    """Whether an answer looks like a reference number, right or wrong."""
    del number
    return FORM.fullmatch(answer.strip()) is not None


if __name__ == "__main__":
    write()
