"""docling finds the bundled models by itself, under their own names."""

import subprocess
import sys
from pathlib import Path

import pytest

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


def test_worker_processes_do_without_torch(converter, request_for, tmp_path):
    path = tmp_path / "note.md"
    path.write_text("# Pier\n\nSeven lanterns.")
    converter.convert(request_for(path))
    worker = converter._pool._idle[-1]
    assert worker.resident_mb < 700
    maps = Path(f"/proc/{worker.pid}/maps").read_text()
    assert "libtorch" not in maps
    assert "onnxruntime" in maps
