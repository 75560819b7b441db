"""Front matter is parted from the text, and nothing else is."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.front_matter import LONGEST, split_front_matter


@pytest.mark.parametrize(
    ("text", "body", "values"),
    [
        ("---\nTitle: A\ntags: [a, b]\n---\nBody\n", "Body\n", {"title": "A", "tags": ["a", "b"]}),
        ("---\r\ntitle: A\r\n...\r\nBody", "Body", {"title": "A"}),
        ('+++\ntitle = "A"\n+++\nBody', "Body", {"title": "A"}),
        ("---\ntitle: A\n---", "", {"title": "A"}),
        ("---\n---\nBody", "Body", {}),
        ("---\n# only a comment\n---\nBody", "Body", {}),
    ],
)
def test_a_block_at_the_beginning_is_parted(text, body, values):
    matter = split_front_matter(text)
    assert (matter.body, dict(matter.values)) == (body, values)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Body",
        "# A\n\n---\ntitle: x\n---\n",
        "---\n\nA paragraph between two rules.\n\n---\nBody",
        "---\n- a\n- b\n---\nBody",
        "---\ntitle: never ended\n",
        "--- \ntitle: x\n----\n",
        "+++\ntitle: x\n",
        f"---\ntitle: {'x' * LONGEST}\n---\nBody",
    ],
)
def test_what_is_no_front_matter_stays(text):
    matter = split_front_matter(text)
    assert (matter.body, matter.values) == (text, {})


@pytest.mark.parametrize(
    "block",
    ["---\na: [b\n---\n", "---\ndate: 2004-13-45\n---\n", "+++\na = \n+++\n", "---\na: " + "[" * 5000 + "\n---\n"],
)
def test_a_damaged_block_is_an_error(block):
    with pytest.raises(ValueError, match="front matter cannot be read"):
        split_front_matter(block)


def test_tags_of_python_are_not_obeyed():
    with pytest.raises(ValueError, match="could not determine a constructor"):
        split_front_matter("---\na: !!python/object/apply:os.system ['true']\n---\n")


@given(st.text(alphabet="-+.=\n\r\t a:\\#", max_size=60))
def test_the_body_is_always_an_end_of_the_text(text):
    with contextlib.suppress(ValueError):  # a block that is no YAML
        assert text.endswith(split_front_matter(text).body)


def test_many_aliases_take_no_time():
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12)]
    began = time.monotonic()
    assert len(split_front_matter("\n".join(["---", "l0: &l0 [x]", *levels, "---", ""])).values) == 12
    assert time.monotonic() - began < 5
