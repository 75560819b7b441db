"""Store resources: what the UI shows of a URI, and what a run opens."""

import pytest

from resources.stores import VectorStoreResource, shown_uri

SECRET = "pgvector:postgresql://bob:s3:cr@t@db:5432/library"


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        (SECRET, "pgvector:postgresql://bob:***@db:5432/library"),
        ("pgvector:postgresql://bob@db/x?password=abc&sslmode=require", None),
        ("qdrant:https://:key@host", "qdrant:https://:***@host"),
        ("qdrant:http://host:6333", "qdrant:http://host:6333"),
        ("chroma:/folder:with@signs/x", "chroma:/folder:with@signs/x"),
    ],
)
def test_passwords_are_hidden_and_nothing_else_is(uri, shown):
    assert shown_uri(uri) == (shown or "pgvector:postgresql://bob@db/x?password=***&sslmode=require")


def test_a_run_opens_the_store_of_the_settings_unless_the_launchpad_names_another():
    resource = VectorStoreResource.of(SECRET)
    assert "s3:cr" not in resource.uri
    assert resource.checked_uri(SECRET) == SECRET
    assert VectorStoreResource(uri="sqlite:/other.db").checked_uri(SECRET) == "sqlite:/other.db"
    with pytest.raises(ValueError, match="nonsense"):
        VectorStoreResource(uri="nonsense").checked_uri(SECRET)
