"""docling finds the bundled models by itself, under their own names."""

import subprocess
import sys
from pathlib import Path

import pytest

from stackroom.conversion import open_converter

QUERY = """
from docling.models.factories import get_layout_factory, get_table_structure_factory
print("rapid_layout" in get_layout_factory(allow_external_plugins=True).registered_kind)
print("rapid_table" in get_table_structure_factory(allow_external_plugins=True).registered_kind)
"""


@pytest.mark.slow
def test_docling_lists_the_bundled_models():
    # In a process of its own: docling's registry imports torch.
    answer = subprocess.run([sys.executable, "-c", QUERY], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["True", "True"]


def test_worker_processes_do_without_torch_and_load_models_for_pages_only(
    options, cache_folder, make_pdf, request_for, tmp_path
):
    note = tmp_path / "note.md"
    note.write_text("# Pier\n\nSeven lanterns.")
    with open_converter(options, cache_folder) as converter:
        assert converter.convert(request_for(note)).chunks
        (worker,) = converter._pool._idle
        assert worker.resident_mb < 350
        maps = Path(f"/proc/{worker.pid}/maps").read_text()
        assert "libtorch" not in maps
        assert "onnxruntime" not in maps
        assert converter.convert(request_for(make_pdf(tmp_path / "pier.pdf", ["Eight lanterns on the pier."]))).chunks
        assert converter._pool._idle == [worker]
        assert worker.resident_mb < 700
        maps = Path(f"/proc/{worker.pid}/maps").read_text()
        assert "libtorch" not in maps
        assert "onnxruntime" in maps
