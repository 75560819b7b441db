"""Vectors in a plain file come back by row number."""

import numpy as np
import pytest

from stackroom.stores.vector_file import VectorFile


def test_vectors_come_back_in_whatever_order_they_were_written(tmp_path):
    file, other = VectorFile(tmp_path / "v.f32", 3), VectorFile(tmp_path / "v.f32", 3)
    vectors = np.arange(36, dtype=np.float32).reshape(12, 3)
    order = np.array([7, 2, 3, 4, 11, 0])
    file.write(order, vectors[order])
    np.testing.assert_array_equal(other.read(np.array([2, 11, 7])), vectors[[2, 11, 7]])
    file.write(np.array([2, 12]), np.array([[9, 9, 9], [8, 8, 8]], dtype=np.float32))
    np.testing.assert_array_equal(other.read(np.array([12, 2, 3])), [[8, 8, 8], [9, 9, 9], vectors[3]])
    assert other.read(np.zeros(0, dtype=np.int64)).shape == (0, 3)
    file.close()
    other.close()


def test_a_row_that_was_never_written_is_an_error_not_garbage(tmp_path):
    file = VectorFile(tmp_path / "v.f32", 3)
    with pytest.raises(OSError, match=r"v\.f32"):
        file.read(np.array([0]))
    file.write(np.array([0]), np.ones((1, 3), dtype=np.float32))
    with pytest.raises(OSError, match="has 1 rows; row 5 was asked for"):
        file.read(np.array([5]))


def test_a_file_made_anew_by_another_is_read_after_looking_again(tmp_path):
    file, other = VectorFile(tmp_path / "v.f32", 2), VectorFile(tmp_path / "v.f32", 2)
    file.write(np.array([0]), np.ones((1, 2), dtype=np.float32))
    other.read(np.array([0]))
    file.clear()
    file.write(np.array([0]), np.full((1, 2), 5, dtype=np.float32))
    other.look_again()
    np.testing.assert_array_equal(other.read(np.array([0])), [[5, 5]])
