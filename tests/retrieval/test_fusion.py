import itertools
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.retrieval.fusion import RankedList, cap_per_source, fold_duplicates, fuse
from stackroom.stores.base import StoreHit


def hit(name: str, score: float, text: str | None = None, source: str = "s") -> StoreHit:
    return StoreHit(name, source, text or name, {}, score)


def ranked(side, *pairs, corpus="c", scale=None):
    hits = [hit(name, score) for name, score in pairs]
    return RankedList(corpus, side, scale or side, hits)


def scores_of(fused):
    return {entry.hit.chunk_id: pytest.approx(entry.score) for entry in fused}


def test_convex_adds_normalised_scores_under_the_weights_of_the_sides():
    lists = [ranked("dense", ("a", 0.9), ("b", 0.7), ("c", 0.5)), ranked("bm25", ("b", 8), ("d", 4))]
    fused = fuse(lists, "convex", 0.6, even_spread=False)
    assert scores_of(fused) == {"b": 0.6 * 0.5 + 0.4, "a": 0.6, "c": 0.0, "d": 0.0}
    assert [entry.hit.chunk_id for entry in fused] == ["b", "a", "c", "d"]
    part = fused[0].parts["dense"]
    assert (part.rank, part.score, part.weight) == (2, 0.7, 0.6)
    assert part.normalised == pytest.approx(0.5)


def test_a_side_whose_scores_lie_close_together_says_as_much_as_the_other():
    dense = ranked("dense", ("a", 1.0), ("b", 0.75), ("c", 0.25), ("d", 0.0))
    bm25 = ranked("bm25", ("d", 10), ("c", 0), ("b", 0), ("a", 0))
    parts = next(entry.parts for entry in fuse([dense, bm25], "convex", 0.5) if entry.hit.chunk_id == "a")
    spread = {"dense": statistics.pstdev([1, 0.75, 0.25, 0]), "bm25": statistics.pstdev([1, 0, 0, 0])}
    share = (1 / spread["dense"]) / (1 / spread["dense"] + 1 / spread["bm25"])
    assert parts["dense"].weight == pytest.approx(share)
    assert parts["bm25"].weight == pytest.approx(1 - share)


def test_a_single_hit_of_one_side_does_not_silence_the_other():
    dense = ranked("dense", *((f"n{number}", 1 - number / 8) for number in range(8)))
    fused = fuse([dense, ranked("bm25", ("n5", 3.0))], "convex", 0.5)
    assert {entry.hit.chunk_id for entry in fused[:2]} == {"n5", "n0"}
    assert 0.3 < fused[0].parts["dense"].weight < 0.7


def test_scores_that_are_all_alike_are_no_error():
    fused = fuse([ranked("dense", ("a", 1), ("b", 1)), ranked("bm25", ("b", 2), ("a", 2))], "convex", 0.5)
    assert scores_of(fused) == {"a": 1.0, "b": 1.0}


def test_rrf_adds_reciprocal_ranks_of_every_store():
    fused = fuse(
        [ranked("dense", ("a", 0.9), ("b", 0.7)), ranked("bm25", ("b", 8)), ranked("bm25", ("b", 1))], "rrf", 0.6
    )
    assert scores_of(fused) == {"b": 1 / 62 + 2 / 61, "a": 1 / 61}
    assert fused[0].parts["bm25"].rank == 1


@pytest.mark.parametrize("empty", ["dense", "bm25"])
def test_a_side_without_hits_leaves_the_other_its_full_weight(empty):
    full = "bm25" if empty == "dense" else "dense"
    fused = fuse([ranked(empty), ranked(full, ("a", 3), ("b", 1))], "convex", 0.6)
    assert scores_of(fused) == {"a": 1.0, "b": 0.0}


def test_lists_of_one_scale_are_normalised_together():
    """Else the best of a corpus that has nothing to say would score as high as the best of all."""
    lists = [ranked("bm25", ("a", 10), ("b", 2)), ranked("bm25", ("x", 4), ("y", 2), corpus="d")]
    assert [entry.hit.chunk_id for entry in fuse(lists, "convex", 0.5)] == ["a", "x", "b", "y"]
    other_model = [ranked("dense", ("a", 10), ("b", 2)), ranked("dense", ("x", 4), ("y", 2), corpus="d", scale="m2")]
    assert scores_of(fuse(other_model, "convex", 0.5)) == {"a": 1.0, "x": 1.0, "b": 0.0, "y": 0.0}


def test_one_hit_alone_counts_fully():
    assert scores_of(fuse([ranked("bm25", ("a", 2.5))], "convex", 0.6)) == {"a": 1.0}


def test_nothing_in_nothing_out():
    assert fuse([], "convex", 0.6) == []
    assert fuse([ranked("dense"), ranked("bm25")], "rrf", 0.6) == []


@given(st.data(), st.sampled_from(["convex", "rrf"]))
def test_the_order_of_lists_changes_nothing_and_ties_are_settled(data, method):
    names = [f"n{number}" for number in range(8)]
    lists = []
    for side in ("dense", "bm25", "bm25"):
        chosen = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=6))
        scores = sorted((data.draw(st.integers(1, 4)) for _ in chosen), reverse=True)
        lists.append(ranked(side, *zip(chosen, scores, strict=True)))
    first = fuse(lists, method, 0.6)
    shuffled = random.Random(0).sample(lists, len(lists))
    again = fuse(shuffled, method, 0.6)
    assert scores_of(first) == {entry.hit.chunk_id: entry.score for entry in again}
    assert all(a.score >= b.score for a, b in itertools.pairwise(first))
    assert len({entry.hit.chunk_id for entry in first}) == len(first)


def test_equal_texts_under_equal_headings_are_folded():
    same = [StoreHit(name, name, "text", {"headings": ["H"]}, score) for name, score in (("a", 3), ("b", 2))]
    other = StoreHit("c", "c", "text", {"headings": ["G"]}, 1)
    fused = fold_duplicates(fuse([RankedList("x", "bm25", "bm25", [*same, other])], "convex", 0.6))
    assert [(entry.hit.chunk_id, [dup.chunk_id for dup in entry.duplicates]) for entry in fused] == [
        ("a", ["b"]),
        ("c", []),
    ]


def test_a_cap_per_source_keeps_the_best_of_each():
    hits = [hit(f"{source}{number}", 9 - number, source=source) for number in range(3) for source in ("p", "q")]
    fused = fuse([RankedList("x", "bm25", "bm25", hits)], "convex", 0.6)
    assert [entry.hit.chunk_id for entry in cap_per_source(fused, 1)] == ["p0", "q0"]
    assert cap_per_source(fused, None) == fused
