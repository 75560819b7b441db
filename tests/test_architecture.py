"""Imports point one way, files stay short, and the table of stages is the same everywhere."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 350

LONGER_FILES: dict[str, int] = {
    # Files that are one idea in spite of their length; this list may only shrink.
}

ALLOWED = {
    "assets": {"assets", "resources", "stackroom"},
    "sensors": {"sensors", "assets.partitions", "assets.in_flight", "resources", "stackroom"},
    "resources": {"resources", "stackroom"},
    "stackroom": {"stackroom"},
    "stackroom_history": {"stackroom_history"},
}
EXCEPTIONS = {("assets/build.py", "sensors")}

FLOORS = (
    {
        "text", "ligatures", "atomic", "errors", "outcome", "identity", "fingerprint", "config", "artefacts", "state",
        "words", "space", "shared_sqlite",
        "formats", "folder_walk", "front_matter", "text_encoding", "path_patterns", "remembered", "settings",
    },
    {
        "sources", "media", "precheck", "organise", "conversion", "chunking", "biblio", "metadata_map", "map_lint",
        "embedding", "stores", "postcheck",
    },
    {"ledger", "plan", "retrieval", "stages", "records", "articles", "doctor", "housekeeping"},
    {"cli", "__main__"},
)  # fmt: skip
OWN = {"assets", "resources", "sensors", "stackroom", "stackroom_history"}


def python_files():
    for top in OWN:
        yield from sorted((ROOT / top).rglob("*.py"))


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module in OWN)


def test_imports_between_the_packages_point_one_way():
    wrong = []
    for path in python_files():
        relative = path.relative_to(ROOT).as_posix()
        top = relative.partition("/")[0]
        for module in imports(path):
            if module.partition(".")[0] not in OWN or module in OWN:
                continue
            fits = any(module == allowed or module.startswith(f"{allowed}.") for allowed in ALLOWED[top])
            if not fits and not any(relative == file and module.startswith(to) for file, to in EXCEPTIONS):
                wrong.append(f"{relative} imports {module}")
    assert wrong == []


def test_the_library_does_not_import_dagster():
    wrong = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "stackroom").rglob("*.py")
        if any(module.partition(".")[0].startswith("dagster") for module in imports(path))
    ]
    assert wrong == []


def floor_of(module: str) -> int:
    part = module.split(".")[1]
    return next(number for number, names in enumerate(FLOORS) if part in names)


def test_inside_the_library_imports_go_down_only():
    wrong = []
    for path in (ROOT / "stackroom").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if len(parts) < 2 or parts[1] in ("__init__", "__main__"):
            continue
        here = floor_of(".".join(parts))
        wrong += [
            f"{'/'.join(parts)}.py (floor {here}) imports {module}"
            for module in imports(path)
            if module.startswith("stackroom.") and "__" not in module and floor_of(module) > here
        ]
    assert wrong == []


def test_nothing_imports_the_code_location_file():
    # Dagster loads it under a bare name; an import elsewhere would build the asset graph a second time.
    assert [path.name for path in python_files() if "assets.definitions" in set(imports(path))] == []


def test_files_stay_short():
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in python_files()
        if (lines := len(path.read_text(encoding="utf-8").splitlines()))
        > LONGER_FILES.get(path.relative_to(ROOT).as_posix(), MAX_LINES)
    }
    assert long == {}


def test_no_package_file_lies_below_tests():
    # A tests/assets/__init__.py would shadow the real assets package.
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_stages_assets_and_documentation_agree():
    from assets.build import STAGE_ASSETS
    from stackroom.stages.order import STAGES

    names = [stage.name for stage in STAGES]
    assert [asset.name for asset in STAGE_ASSETS] == names
    documented = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}`" not in documented] == []


@pytest.mark.parametrize("module", ["stackroom", "stackroom.config", "stackroom.plan"])
def test_light_modules_import_nothing_heavy(module):
    heavy = "{'torch', 'docling', 'chromadb', 'dagster', 'transformers'}"
    code = f"import sys, {module}; print(sorted({{m.partition('.')[0] for m in sys.modules}} & {heavy}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
