"""What the documentation says must be what the program does, as far as a machine can tell."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from stackroom.cli import app
from stackroom.config import load_config

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def test_the_configuration_reference_is_what_the_settings_say():
    code = "import config_reference as c; print(c.render(), end='')"
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY / "tools", capture_output=True, text=True, check=True
    ).stdout
    assert (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8") == made, "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_command_is_documented():
    page = (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"`stackroom {command.name}" in page


def test_every_documented_make_target_exists():
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"(?:^|`|PORT=3001 )make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
        assert named <= targets, page.name


def test_the_settings_as_delivered_are_valid_and_offer_the_bibliographic_filters():
    config = load_config(REPOSITORY, {})
    fields = {field.name: field.value_type for field in config.corpora["handbook"].filter_fields}
    assert fields == {
        "title": "string",
        "authors": "list",
        "year": "int",
        "journal": "string",
        "doi": "string",
        "keywords": "list",
    }
    assert config.corpora["handbook"].folder == REPOSITORY / "library"


def test_the_example_in_the_configuration_page_is_valid(tmp_path):
    page = (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8")
    example = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])
    (tmp_path / "letters").mkdir()
    example["corpora"]["letters"]["folder"] = str(tmp_path / "letters")
    (tmp_path / "stackroom.yaml").write_text(yaml.safe_dump(example))
    corpus = load_config(tmp_path, {}).corpora["letters"]
    assert corpus.ocr.mode == "always"
    assert corpus.exclude == ("drafts/**",)


def test_constraints_name_no_machine_and_no_accelerator():
    for line in (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), line
        assert not line.lower().startswith(("nvidia", "cuda", "triton")), line


def test_every_recorded_case_that_is_answered_differently_is_listed():
    """Tests name the cases they expect another answer for in tables; the page of differences must name them, too."""
    page = (REPOSITORY / "docs" / "differences.md").read_text(encoding="utf-8")
    listed = {name for codes in re.findall(r"\[([A-Z0-9, to-]+)\]", page) for name in _codes(codes)}
    for path in sorted((REPOSITORY / "tests").rglob("test_*.py")):
        for name, body in re.findall(
            r"^(DEVIATIONS|CHANGED|IMPROVED|ALL_COMPONENTS)\b.*?= \{(.*?)^\}",
            path.read_text(encoding="utf-8"),
            re.MULTILINE | re.DOTALL,
        ):
            named = set(re.findall(r'"([A-Z]{1,2}-?\d{3})":', body))
            assert named, f"{path.name}: {name}"
            assert named <= listed, path.name


def _codes(text: str) -> set[str]:
    """Return the codes in a list such as ``FM-003, FP-002 to FP-004``."""
    codes = set()
    for part in text.split(", "):
        first, _, last = part.partition(" to ")
        prefix, width = first.rstrip("0123456789"), len(first) - len(first.rstrip("0123456789"))
        numbers = range(int(first[len(prefix) :]), int((last or first)[len(prefix) :]) + 1)
        codes |= {f"{prefix}{number:0{width}}" for number in numbers}
    return codes
