import json
import os

import pytest

from stackroom.errors import ConfigError
from stackroom.retrieval.store_config import load_retriever_config, resolve_stores_config_path, stores_config
from stackroom.stores.naming import collection_name

CABLES = {
    "domains": {
        "Cables": {
            "description": "Cable theory papers",
            "vector_stores": [
                {"name": "cables", "path": "chroma:/srv/stores/cables", "default_k": 8, "k_max": 16, "k_inc": 4}
            ],
            "bm25_stores": [{"name": "cables-kw", "path": "/srv/stores/cables.pkl"}],
            "filter_fields": [
                {"name": "year", "description": "publication year", "value_type": "int"},
                {"name": "authors", "description": "author names", "value_type": "list"},
            ],
            "mcp_servers": ["a key of another program"],
        }
    },
    "general": {"default_k": 5},
}


def test_the_reference_format_is_read_and_foreign_keys_are_ignored(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(CABLES))
    domain = load_retriever_config(path).domains["Cables"]
    assert (domain.vector_stores[0].k_max, domain.bm25_stores[0].k_max) == (16, None)
    assert [field.value_type for field in domain.filter_fields] == ["int", "list"]
    assert domain.vector_stores[0].model_dump() == CABLES["domains"]["Cables"]["vector_stores"][0]


def test_what_is_written_is_what_is_read(project, embedder, tmp_path):
    plain = stores_config(project, {"animals": embedder.identity.key})
    path = tmp_path / "s.json"
    path.write_text(json.dumps(plain))
    assert list(plain["domains"]) == ["animals"]
    domain = plain["domains"]["animals"]
    assert set(domain) == {"description", "vector_stores", "bm25_stores", "filter_fields"}
    assert domain["vector_stores"][0]["name"] == collection_name("animals", embedder.identity.key)
    assert domain["vector_stores"][0]["path"].startswith("sqlite:")
    assert load_retriever_config(path).domains["animals"].bm25_stores[0].k_max == 10


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "not a stores configuration"),
        ("[]", "not a stores configuration"),
        ("{}", "domains: Field required"),
        ('{"domains": {"A": {"vector_stores": [{"name": "x"}]}}}', r"domains\.A\.vector_stores\.0\.path"),
        (
            '{"domains": {"A": {"bm25_stores": [{"name": "x", "path": "p", "default_k": 9, "k_max": 3}]}}}',
            "`k_max` 3 is below `default_k` 9",
        ),
        ('{"domains": {"A": {"bm25_stores": [{"name": "x", "path": "p", "k_inc": 0}]}}}', "k_inc"),
        ('{"domains": {"A": {"filter_fields": [{"name": "x"}]}}}', "description"),
    ],
)
def test_an_unusable_file_is_an_error_that_names_file_and_key(tmp_path, content, told):
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=told) as raised:
        load_retriever_config(path)
    assert str(path) in str(raised.value)
    with pytest.raises(ValueError, match="not a stores configuration"):
        resolve_stores_config_path(path)


def test_a_change_of_time_alone_is_a_change(tmp_path):
    path = tmp_path / "s.json"
    path.write_text('{"domains": {}}')
    first = load_retriever_config(path)
    os.utime(path, ns=(1, 1))
    assert load_retriever_config(path) is not first
    (tmp_path / "link.json").symlink_to(path)
    assert load_retriever_config(tmp_path / "link.json") is load_retriever_config(path)
