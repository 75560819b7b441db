from dataclasses import replace

import pytest

from stackroom.retrieval.routing import Budget, Judgement, next_step

GOOD = Judgement("continue", 0.8, 0.8, 0.8, 0.8, 0.8, 0.8)
ALL = Budget(retrievals_left=True, can_grow=True, rewrites_left=True, fallback_allowed=True)
NOTHING = Budget(retrievals_left=False, can_grow=False, rewrites_left=False, fallback_allowed=False)


@pytest.mark.parametrize(
    ("judgement", "budget", "empty", "wanted"),
    [
        (GOOD, NOTHING, False, "continue"),
        (replace(GOOD, next_step="modify_query"), ALL, False, "modify_query"),
        (replace(GOOD, next_step="retrieve_more_info"), ALL, False, "retrieve_more_info"),
        (replace(GOOD, next_step="retrieve_more_info"), replace(ALL, can_grow=False), False, "modify_query"),
        (replace(GOOD, coverage=0.29), ALL, False, "modify_query"),
        (replace(GOOD, coverage=0.4), ALL, False, "best_effort"),
        (replace(GOOD, next_step="rewrite_answer"), ALL, False, "rewrite_answer"),
        (replace(GOOD, coherence=0.49), ALL, False, "rewrite_answer"),
        (replace(GOOD, coherence=0.49), NOTHING, False, "best_effort"),
        (replace(GOOD, confidence=0.1), NOTHING, False, "undefined"),
        (replace(GOOD, confidence=0.1), replace(NOTHING, fallback_allowed=True), False, "fallback"),
        (replace(GOOD, next_step="undefined"), NOTHING, True, "undefined"),
        (replace(GOOD, groundedness=0.2), NOTHING, False, "undefined"),
    ],
)
def test_decisions(judgement, budget, empty, wanted):
    assert next_step(judgement, budget, empty) == wanted
