"""One rule for unit vectors, and what is refused."""

import numpy as np
import pytest

from stackroom.embedding.vectors import checked_unit_vectors, unit_vector
from stackroom.errors import EmbeddingError


def test_large_components_do_not_overflow():
    np.testing.assert_allclose(unit_vector([1e20, 1e20]), [0.70710677, 0.70710677], rtol=1e-7)


def test_what_float32_cannot_hold_never_matches():
    assert not np.isfinite(unit_vector([1e39, 1.0])).all()
    assert unit_vector([1e-46, 0.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, 0.0], [0.0, 0.0]], "zero vector.*'second'"),
        ([[1.0, 0.0], [np.nan, 0.0]], "not finite.*'second'"),
        ([[1.0, 0.0], [np.inf, 0.0]], "not finite.*'second'"),
        ([[1.0, 0.0]], r"shape \(1, 2\) for 2 texts"),
        ([[1.0], [2.0]], r"expected \(2, 2\)"),
    ],
)
def test_vectors_that_cannot_be_used_are_errors_that_name_the_text(vectors, message):
    with pytest.raises(EmbeddingError, match=message):
        checked_unit_vectors(np.array(vectors, dtype=np.float32), ["first", "second"], 2, "m")


def test_checked_vectors_are_scaled_to_length_one():
    unit = checked_unit_vectors(np.array([[3.0, 4.0]], dtype=np.float64), ["x"], 2, "m")
    assert unit.dtype == np.float32
    np.testing.assert_allclose(unit, [[0.6, 0.8]], rtol=1e-6)
