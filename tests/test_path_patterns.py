"""Globs over paths, compared with pathlib's own on a tree of files."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.errors import ConfigError
from stackroom.path_patterns import PathPatterns, matches

TREE = (
    "a.pdf",
    "b.PDF",
    "notes.md",
    "sub/a.pdf",
    "sub/deep/c.pdf",
    "sub/deep/d.txt",
    "2020-01/x.pdf",
    "2021-02/x.pdf",
    "we[ird].pdf",
    "é.pdf",
)


@pytest.mark.parametrize(
    "pattern",
    ["**/*", "*", "*.pdf", "**/*.pdf", "sub/**/*", "sub/*.pdf", "**/deep/*", "202?-0[12]/*.pdf", "**/x.pdf", "?.pdf"],
)
def test_patterns_mean_what_they_mean_to_pathlib(tmp_path, pattern):
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    expected = {path.relative_to(tmp_path).as_posix() for path in tmp_path.glob(pattern) if path.is_file()}
    assert {name for name in TREE if matches(pattern, name)} == expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("sub/", "sub/deep/c.pdf", True),  # a trailing slash: everything inside
        ("sub/", "other/sub/c.pdf", False),
        ("sub/**", "sub/deep/c.pdf", True),
        ("**", "sub/deep/c.pdf", True),
        ("./sub/*.pdf", "sub/a.pdf", True),
        ("[!ab].pdf", "c.pdf", True),
        ("[!ab].pdf", "a.pdf", False),
        ("[!ab].pdf", "/.pdf", False),
        ("we[[]ird].pdf", "we[ird].pdf", True),
        ("odd[.pdf", "odd[.pdf", True),  # an open bracket without its partner is itself
        ("new*line.pdf", "new\nline.pdf", True),
        ("e\u0301.pdf", "é.pdf", True),  # a decomposed accent is the same letter
        ("*.pdf", "A.PDF", False),
        ("*.pdf", "sub/a.pdf", False),
        ("a.b", "axb", False),
    ],
)
def test_cases_worth_naming(pattern, path, expected):
    assert matches(pattern, path) is expected


def test_several_patterns_match_what_any_of_them_does():
    patterns = PathPatterns(("*.md", "sub/**"))
    assert [name for name in TREE if patterns.match(name)] == [
        "notes.md",
        "sub/a.pdf",
        "sub/deep/c.pdf",
        "sub/deep/d.txt",
    ]
    assert not PathPatterns(()).match("a.pdf")


@pytest.mark.parametrize("pattern", ["", "/etc/*", "../other/*.pdf", "a/../b"])
def test_patterns_that_leave_the_folder_are_refused(pattern):
    with pytest.raises(ConfigError, match="not relative to the folder"):
        PathPatterns((pattern,))


@given(st.text(alphabet="ab*?[]!-/.\n", min_size=1, max_size=12), st.text(alphabet="ab/.-\n", max_size=12))
def test_no_pattern_makes_an_invalid_or_endless_expression(pattern, path):
    try:
        matches(pattern, path)
    except ConfigError:
        assert pattern.startswith(("/", "./")) or ".." in pattern.split("/")


def test_many_stars_stay_fast():
    assert not matches("*a" * 12 + "b", "a" * 200)
    assert matches("*a" * 12, "a" * 200)
    assert not matches("**/a/" * 8 + "b", "a/" * 100 + "c")
    assert matches("**/a/" * 8 + "b", "a/" * 100 + "b")


NAMES = st.text(alphabet="ab", min_size=1, max_size=2)
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
PARTS = st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "?", "*a*b", "[ab]", "[!a]*", "**"])


@given(st.lists(PARTS, min_size=1, max_size=5), PATHS)
def test_patterns_agree_with_a_plain_search(parts, path):
    def fits(parts, names):
        if not parts:
            return not names
        if parts[0] == "**":
            if len(parts) == 1:
                return bool(names)
            return any(fits(parts[1:], names[skip:]) for skip in range(len(names)))
        return bool(names) and fnmatch.fnmatchcase(names[0], parts[0]) and fits(parts[1:], names[1:])

    assert matches("/".join(parts), path) == fits(parts, path.split("/"))
