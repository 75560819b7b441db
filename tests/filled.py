"""A project whose documents have gone through every stage without Dagster, for tests of what comes afterwards."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from stackroom.config import Config, load_config
from stackroom.outcome import Failed
from stackroom.stages.bench import Bench, BenchSettings, FileWork
from stackroom.stages.corpus import refresh_stores, write_stores_config
from stackroom.stages.corpus_lint import lint_whole_corpus
from stackroom.stages.order import STAGES
from stackroom.stages.reconcile import plan_corpus
from stackroom.stages.removal import remove_sources, withdraw_source
from stackroom.stages.verdict import judge, revision, settings_digest

CORPUS = "notes"
DOCUMENTS = {
    "birds/heron.md": "# Herons\n\nBy Ana Ruiz, 2004\n\nThe grey heron waits in shallow water and spears fish.",
    "birds/swift.md": "# Swifts\n\nBy Ben Ito, 2011\n\nThe swift sleeps in flight and lands only to breed.",
    "otter.md": "# Otters\n\nBy Ana Ruiz, 2019\n\nOtters hunt fish in rivers and leave their spraint on stones.",
    "engine.md": "# Steam\n\nBy Cy Moe, 1998\n\nA boiler turns water into steam, which drives a piston to and fro.",
}


@dataclass
class Filled:
    """A project folder with one corpus in a SQLite store."""

    root: Path

    @property
    def folder(self) -> Path:
        """Folder of documents."""
        return self.root / "docs"

    @property
    def store(self) -> str:
        """URI of the configured store."""
        return f"sqlite:{self.root}/vectors.db"

    @property
    def config(self) -> Config:
        """The settings as they are now."""
        return load_config(self.root, {})

    def settings(self, text: str = "") -> None:
        """Write stackroom.yaml, with ``text`` inside the corpus."""
        (self.root / "stackroom.yaml").write_text(
            f"limits: {{workers: 1}}\ncorpora:\n  {CORPUS}:\n    folder: docs\n    vector_store: '{self.store}'\n{text}"
        )

    def bench(self) -> Bench:
        """Open a bench of the corpus."""
        return Bench(BenchSettings.of(self.config, CORPUS))

    def ingest(self, most: int | None = None) -> tuple[str, ...]:
        """Take through the stages what is new or changed, remove what is gone, and return what was processed.

        Args:
            most: files after which to stop, as if the rest could not be done now.
        """
        with self.bench() as bench:
            planned = plan_corpus(bench, confirm_deletions=True)
            digest = settings_digest(bench)
            for source in planned.process[:most]:
                work, outcomes = FileWork(bench, source), {}
                for stage in STAGES:
                    outcomes[stage.name] = stage.run(work)
                    if isinstance(outcomes[stage.name], Failed):
                        break
                content = bench.ledger.source(CORPUS, source).content_hash
                verdict = judge(outcomes, revision(bench, source, content, digest))
                if verdict.state == "quarantined":
                    withdraw_source(bench, source)
                bench.ledger.record(CORPUS, source, verdict)
            remove_sources(bench, planned.delete)
            refresh_stores(bench)
            lint_whole_corpus(bench)
        write_stores_config(self.config)
        return planned.process[:most]


def fill(root: Path) -> Filled:
    """Make a project of :data:`DOCUMENTS`."""
    made = Filled(root)
    for name, text in DOCUMENTS.items():
        path = made.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    made.settings()
    made.ingest()
    return made


def copy(template: Filled, root: Path) -> Filled:
    """Return a project like ``template`` to do anything with; its artefacts and caches make this cheap."""
    shutil.copytree(template.folder, root / "docs", copy_function=shutil.copy2)
    own = shutil.ignore_patterns("ledger.sqlite*", "serving", "moved-stores.json")
    shutil.copytree(template.root / ".stackroom", root / ".stackroom", ignore=own)
    made = Filled(root)
    made.settings()
    made.ingest()
    return made


def hide_environment(monkeypatch) -> None:
    """Let no variable of the machine change the project."""
    for variable in [name for name in os.environ if name.startswith(("STACKROOM_", "DAGSTER_"))]:
        monkeypatch.delenv(variable)
