"""What was read of an answer: the output, the tokens, and what the server says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from .failure import Failure, line

MOST_TOKENS = 2**31 - 1


@dataclass(slots=True)
class Reading:
    """One answer, read.

    `output` is the answer as bytes, whose meaning the reader's name tells. `chunks` counts the events that
    carried tokens, `places` which of the events they were; -1 where the answer was no stream. Token counts
    are those that the server reports, -1 where it reports none.
    """

    failure: Failure = Failure.NONE
    text: str = ""  # of a failure
    output: bytes = b""
    chunks: int = -1
    places: list[int] = field(default_factory=list)
    input_tokens: int = -1
    output_tokens: int = -1
    cached_tokens: int = -1
    finish: str = ""
    model: str = ""
    fingerprint: str = ""

    def fail(self, failure: Failure, text: object) -> None:
        """Note a failure, unless one was noted before."""
        if self.failure is Failure.NONE:
            self.failure, self.text = failure, line(text)

    def take_usage(self, usage: object) -> None:
        """Take what the server reports of tokens; the last report counts.

        Those from its cache stand among the details of the prompt, as OpenAI has it, or in a field beside it.
        """
        if not isinstance(usage, dict):
            return
        # Something was asked, so 0 is what a server says that has not counted.
        self.input_tokens = count(usage.get("prompt_tokens"), 0) or self.input_tokens
        self.output_tokens = count(usage.get("completion_tokens"), self.output_tokens)
        self.cached_tokens = count(usage.get("prompt_cache_hit_tokens"), self.cached_tokens)
        details = usage.get("prompt_tokens_details")
        if isinstance(details, dict):
            self.cached_tokens = count(details.get("cached_tokens"), self.cached_tokens)

    def check_usage(self) -> None:
        """Take no answer for free that says something: 0 tokens beside it are no report."""
        if self.output_tokens == 0:
            self.output_tokens = -1

    def take_identity(self, answer: dict[str, object]) -> None:
        """Take the model and the fingerprint that the server names."""
        model, fingerprint = answer.get("model"), answer.get("system_fingerprint")
        if isinstance(model, str) and not self.model:
            self.model = line(model)
        if isinstance(fingerprint, str) and not self.fingerprint:
            self.fingerprint = line(fingerprint)


def count(value: object, otherwise: int = -1) -> int:
    """Read a number of tokens; `otherwise` where it is none."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS:
        return value
    return otherwise
