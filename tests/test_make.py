"""The makefile and its scripts: what a newcomer and the integration server call."""

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository with a clean environment apart from what is given."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    return subprocess.run(command, cwd=REPOSITORY, env={**kept, **environment}, capture_output=True, text=True)


def test_help_lists_the_targets():
    shown = run("make").stdout
    for target in ("install", "ingest", "ui", "test", "check", "sample-library", "clean-state"):
        assert f"make {target} " in shown


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({}, f"{REPOSITORY}/.stackroom"),
        ({"STACKROOM_STATE": "/var/lib/my rooms"}, "/var/lib/my rooms"),
        ({"STACKROOM_STATE": "elsewhere"}, f"{REPOSITORY}/elsewhere"),
    ],
)
def test_every_target_gets_one_absolute_state_folder(given, state, tmp_path):
    """A relative path would mean another folder in each of Dagster's processes."""
    variables = ("STACKROOM_STATE", "DAGSTER_HOME", "HF_HUB_OFFLINE")
    recipe = "printf '%s|' " + " ".join(f'"$${name}"' for name in variables)
    (tmp_path / "show.mk").write_text(f"include {REPOSITORY}/Makefile\nshow:\n\t@{recipe}\n")
    shown = run("make", "-f", str(tmp_path / "show.mk"), "show", **given).stdout
    assert shown == f"{state}|{REPOSITORY}|1|"


def test_the_folder_to_ingest_may_have_blanks_and_quotes(tmp_path):
    """The folder travels through the environment, so that no shell takes its name apart."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "stackroom").write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    (binaries / "stackroom").chmod(0o755)
    (tmp_path / ".installed-runtime").touch()
    os.utime(tmp_path / ".installed-runtime", (4e9, 4e9))
    folder = '/data/it\'s "here" now'
    assert run("make", "ingest", f"VENV={tmp_path}", f"SOURCE={folder}").stdout == f"<ingest><--source><{folder}>"
    assert run("make", "ingest", f"VENV={tmp_path}").stdout == "<ingest>"
    assert run("make", "ingest", f"VENV={tmp_path}", "CORPUS=papers").stdout == "<ingest><papers>"


def test_an_unusable_interpreter_is_named(tmp_path):
    ended = run("tools/install.sh", "runtime", PYTHON="/bin/false", VENV=str(tmp_path / "venv"))
    assert ended.returncode == 1
    assert "/bin/false is none of them" in ended.stderr
    assert not (tmp_path / "venv").exists()


def test_an_interpreter_that_exists_but_does_not_start_is_passed_over(tmp_path):
    """A version manager leaves shims for interpreters that are not installed; they fail when called."""
    for name in ("python3.11", "python3.12", "python3.13", "python3", "python"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'not installed' >&2\nexit 127\n")
        (tmp_path / name).chmod(0o755)
    ended = run("tools/install.sh", "runtime", PATH=f"{tmp_path}:/usr/bin:/bin", VENV=str(tmp_path / "venv"))
    assert ended.returncode == 1
    assert "none was found" in ended.stderr


def test_a_folder_that_is_no_state_folder_is_not_deleted(tmp_path):
    (tmp_path / "thesis.pdf").touch()
    ended = run("tools/clean_state.sh", STACKROOM_STATE=str(tmp_path))
    assert ended.returncode == 1
    assert (tmp_path / "thesis.pdf").exists()


def test_a_state_folder_inside_a_project_folder_that_is_both_is_not_deleted(tmp_path):
    (tmp_path / "ledger.sqlite").touch()
    (tmp_path / "stackroom.yaml").touch()
    assert run("tools/clean_state.sh", STACKROOM_STATE=str(tmp_path)).returncode == 1
    assert (tmp_path / "stackroom.yaml").exists()


def test_a_state_folder_is_deleted_whole(tmp_path):
    state = tmp_path / "state"
    (state / "artefacts").mkdir(parents=True)
    (state / "ledger.sqlite").touch()
    assert run("tools/clean_state.sh", STACKROOM_STATE=str(state)).returncode == 0
    assert not state.exists()
    assert run("tools/clean_state.sh", STACKROOM_STATE=str(state)).returncode == 0
