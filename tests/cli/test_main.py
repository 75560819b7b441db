"""The command as a whole: how it starts, finds its project, and reports what went wrong."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackroom.cli import main
from stackroom.cli.project import find_project
from stackroom.errors import ConfigError

HEAVY = ("dagster", "docling", "torch", "chromadb", "pandas", "pyarrow", "numpy", "sentence_transformers")


def test_help_starts_at_once_and_loads_nothing_heavy():
    code = "import sys; from stackroom.cli import main; main(['--help']); print('LOADED', *sys.modules)"
    start = time.perf_counter()
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert time.perf_counter() - start < 5.0
    assert "ingest" in shown
    loaded = set(shown.split("LOADED")[1].split())
    assert loaded.isdisjoint(HEAVY)


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 0
    assert "ingest" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serch", "x"], "No such command 'serch'"),
        (["search"], "Missing argument"),
        (["search", "x", "--k", "0"], "--k"),
        (["ingest", "--fast"], "No such option"),
    ],
)
def test_a_wrong_argument_could_not_run(arguments, words, capsys):
    """Exit code 2 means failed files; a script must not mistake a misspelt option for them."""
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""


def test_outside_a_project_the_message_says_how_to_name_one(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("STACKROOM_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["status", "--json"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "stackroom.yaml" in printed.err
    assert "STACKROOM_PROJECT" in printed.err


def test_the_project_is_found_from_a_folder_deep_inside(project):
    assert find_project(None) == project.folder
    assert find_project(project.folder) == project.folder


def test_a_project_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="is not a folder"):
        find_project(tmp_path / "nothing")


def test_the_project_can_be_named_by_a_variable(project, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STACKROOM_PROJECT", str(project.folder))
    assert main(["status"]) == 0
    assert "no files yet" in capsys.readouterr().out


def test_a_misspelt_setting_is_named_with_the_right_key(project, capsys):
    (project.folder / "stackroom.yaml").write_text("corpora:\n  papers:\n    foldr: docs\n    folder: docs\n")
    assert main(["status"]) == 1
    assert "did you mean 'folder'" in capsys.readouterr().err


def test_a_closed_pipe_is_not_an_error(project):
    """`stackroom status | head -1` must not end in a traceback."""
    for number in range(400):
        project.add_file(f"{number:04}.md")
    command = f"{sys.executable} -m stackroom status --json | head -1"
    ended = subprocess.run(["/bin/sh", "-c", command], cwd=project.folder, capture_output=True, text=True)
    assert ended.stdout == "{\n"
    assert ended.stderr == ""


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("stackroom 0.")


def test_the_package_can_be_run_as_a_module():
    ended = subprocess.run([sys.executable, "-m", "stackroom", "--version"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout[:10]) == (0, "stackroom ")
    assert Path(sys.executable).exists()
