"""What to do after an answer was judged: keep it, search again, ask for more, rewrite it, or give up on it.

A pure decision for programs that answer questions from reference material; nothing is searched or written here.
"""

from dataclasses import dataclass
from typing import Literal

Step = Literal[
    "continue", "modify_query", "retrieve_more_info", "rewrite_answer", "fallback", "undefined", "best_effort"
]
"""``fallback``: answer without reference material; ``undefined``: ask the user what is meant; ``best_effort``: keep the
answer and say that it is weak."""

GOOD, POOR = 0.5, 0.3
"""A judgement from ``GOOD`` on is good enough; below ``POOR`` it is not worth working on."""


@dataclass(frozen=True)
class Judgement:
    """How an answer was judged; every score is between 0 and 1."""

    next_step: str
    """What the judge proposes: continue, retrieve_more_info, modify_query, rewrite_answer or undefined."""
    confidence: float
    coverage: float
    relevance: float
    groundedness: float
    coherence: float
    conciseness: float

    @property
    def all_good(self) -> bool:
        """Say whether no score is in the way."""
        return min(self.confidence, self.coverage, self.quality) >= GOOD

    @property
    def quality(self) -> float:
        """Return the worst of the scores that rewriting can mend."""
        return min(self.relevance, self.groundedness, self.coherence, self.conciseness)


@dataclass(frozen=True)
class Budget:
    """What can still be tried."""

    retrievals_left: bool
    """Another retrieval is allowed, and there is something to retrieve from."""
    can_grow: bool
    """Some store can be asked for more than last time."""
    rewrites_left: bool
    fallback_allowed: bool


def next_step(judgement: Judgement, budget: Budget, answer_is_empty: bool = False) -> Step:
    """Return what to do with an answer.

    Args:
        judgement: how it was judged.
        budget: what can still be tried.
        answer_is_empty: there is no answer text at all.
    """
    if judgement.next_step == "continue" and judgement.all_good:
        return "continue"
    covered = judgement.coverage >= GOOD
    if budget.retrievals_left:
        if judgement.next_step == "modify_query" or judgement.coverage < POOR:
            return "modify_query"
        if judgement.next_step == "retrieve_more_info" or (covered and judgement.confidence < GOOD):
            return "retrieve_more_info" if budget.can_grow else "modify_query"
    if budget.rewrites_left:
        mendable = covered and judgement.confidence >= GOOD and judgement.quality < GOOD
        if judgement.next_step == "rewrite_answer" or mendable:
            return "rewrite_answer"
    return _give_up(judgement, budget, answer_is_empty)


def _give_up(judgement: Judgement, budget: Budget, answer_is_empty: bool) -> Step:
    if min(judgement.coverage, judgement.confidence) < POOR:
        return "fallback" if budget.fallback_allowed else "undefined"
    return "undefined" if judgement.groundedness < POOR or answer_is_empty else "best_effort"
