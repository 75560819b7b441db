import logging

import pytest
from pydantic import ValidationError

from stackroom.errors import FilterError
from stackroom.retrieval.query_schema import build_retrieval_query_schema, query_of_form
from stackroom.retrieval.store_config import FilterFieldInfo

FIELDS = [
    FilterFieldInfo(name="lab", description="which lab"),
    FilterFieldInfo(name="year", description="", value_type="int"),
    FilterFieldInfo(name="impact", description="", value_type="float"),
    FilterFieldInfo(name="tags", description="", value_type="list"),
]


def filter_of(**values):
    form = build_retrieval_query_schema(FIELDS).model_validate(values)
    return query_of_form(form, FIELDS).to_metadata_filter()


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"search_query": "x"}, None),
        ({"lab": "Koch"}, {"lab": {"$eq": "Koch"}}),
        ({"lab": ["Koch", "Segev"]}, {"lab": {"$in": ["Koch", "Segev"]}}),
        ({"year": {"gte": 2000}}, {"year": {"$gte": 2000}}),
        ({"year": {"gte": 2000, "lte": 2005}}, {"$and": [{"year": {"$gte": 2000}}, {"year": {"$lte": 2005}}]}),
        ({"year": {}}, None),
        ({"tags": ["a", "b"]}, {"$and": [{"tags": {"$contains": "a"}}, {"tags": {"$contains": "b"}}]}),
        ({"lab": "K", "impact": 2.5}, {"$and": [{"lab": {"$eq": "K"}}, {"impact": {"$eq": 2.5}}]}),
    ],
)
def test_operands_become_clauses(values, wanted):
    assert filter_of(**values) == wanted


@pytest.mark.parametrize("values", [{"year": 2004.5}, {"lab": 5}, {"tags": "a"}, {"year": "soon"}])
def test_operands_of_the_wrong_type_are_refused(values):
    with pytest.raises(ValidationError):
        build_retrieval_query_schema(FIELDS).model_validate(values)


@pytest.mark.parametrize("name", ["search_query", "not a name", "_hidden", "class", "model_dump", "2nd"])
def test_a_name_that_cannot_be_a_field_is_left_out_with_a_warning(name, caplog):
    with caplog.at_level(logging.WARNING):
        schema = build_retrieval_query_schema([FilterFieldInfo(name=name, description="")])
    assert list(schema.model_fields) == ["search_query"]
    assert repr(name) in caplog.text


def test_descriptions_reach_the_model():
    schema = build_retrieval_query_schema(FIELDS)
    assert schema.model_json_schema()["properties"]["lab"]["description"] == "which lab"
    other = build_retrieval_query_schema([FilterFieldInfo(name="lab", description="another lab")])
    assert other.model_json_schema()["properties"]["lab"]["description"] == "another lab"


def test_an_operator_that_does_not_exist_is_refused():
    class Form(type(build_retrieval_query_schema(FIELDS)())):  # type: ignore[misc]
        odd: dict[str, int] = {"near": 5}  # noqa: RUF012

    with pytest.raises(FilterError):
        query_of_form(Form(), [*FIELDS, FilterFieldInfo(name="odd", description="")])
