"""What a conversion depends on is complete, and a model that is asked for is found or missed aloud."""

import json

import pytest

from stackroom.config import ConversionSettings
from stackroom.conversion.identity import find_heron, layout_in_use
from stackroom.errors import ConfigError


def heron_in(folder):
    weights = folder / "docling-project--docling-layout-heron" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"weights")
    return folder


def test_identities_are_plain_values_and_do_not_clash(options):
    conversion, chunking = options.conversion_identity(), options.chunking_identity()
    assert json.loads(json.dumps(conversion)) == conversion
    assert json.loads(json.dumps(chunking)) == chunking
    assert set(conversion) & set(chunking) == set()
    assert {"docling", "docling-core", "pypdfium2", "rapidocr"} <= set(conversion["packages"])


def test_auto_takes_heron_only_where_its_weights_are(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    assert layout_in_use(ConversionSettings(layout="auto")) == "bundled"
    folder = heron_in(tmp_path / "models")
    assert layout_in_use(ConversionSettings(layout="auto", model_folder=folder)) == "heron"
    assert layout_in_use(ConversionSettings(layout="bundled", model_folder=folder)) == "bundled"


def test_heron_is_found_in_the_cache_of_the_hub(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--docling-project--docling-layout-heron" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    assert find_heron(None) is None
    (snapshot / "model.safetensors").write_bytes(b"weights")
    assert find_heron(None) == snapshot


def test_heron_without_weights_is_an_error_with_a_remedy(tmp_path):
    with pytest.raises(ConfigError, match=r"'heron' is asked for.*docling-tools models download"):
        layout_in_use(ConversionSettings(layout="heron", model_folder=tmp_path))
