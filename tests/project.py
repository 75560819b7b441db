"""A project of its own for a test: settings, folder, state and Dagster instance under a temporary folder."""

from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from assets.build import build_defs
from assets.in_flight import RANGE_END_TAG, RANGE_START_TAG
from assets.jobs import ingest_job_name, refresh_job_name
from assets.partitions import CORPUS_TAG, add_sources, known_sources
from resources.bench import bench_of, default_resources
from stackroom.config import load_config
from stackroom.identity import partition_key
from stackroom.ledger import Ledger
from stackroom.plan import ranges
from stackroom.stages.bench import Bench
from stackroom.stages.reconcile import plan_corpus
from stackroom.state import StateFolder

CORPUS = "notes"
QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}


@dataclass
class Project:
    """A project folder with one corpus, and ways to run it like the product does."""

    root: Path
    instance: dg.DagsterInstance

    @property
    def folder(self) -> Path:
        """Folder of documents."""
        return self.root / "docs"

    @property
    def config(self):
        """The settings as they are now."""
        return load_config(self.root, {"STACKROOM_STATE": str(self.root / "state")})

    @property
    def state(self) -> StateFolder:
        """State folder."""
        return StateFolder(self.root / "state")

    def write(self, name: str, text: str) -> None:
        """Write a document."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def settings(self, text: str = "") -> None:
        """Write stackroom.yaml: one corpus with a SQLite store, plus ``text`` inside the corpus."""
        (self.root / "stackroom.yaml").write_text(
            f"limits: {{workers: 1}}\ncorpora:\n  {CORPUS}:\n    folder: docs\n"
            f"    vector_store: 'sqlite:{self.root}/state/vectors.db'\n{text}"
        )

    def bench(self) -> Bench:
        """Open a bench of the corpus."""
        return bench_of(self.config, CORPUS, default_resources(self.config, CORPUS))

    def ingest(self, **options) -> list[dg.ExecuteInProcessResult]:
        """Plan, run the ranges and refresh; return the results of the ranged runs."""
        config, finished = self.config, []
        definitions = build_defs(config)
        with self.bench() as bench:
            planned = plan_corpus(bench, **options)
        add_sources(self.instance, CORPUS, list(planned.process))
        for first, last in ranges(planned.process, known_sources(self.instance, CORPUS), 100):
            tags = {RANGE_START_TAG: partition_key(first), RANGE_END_TAG: partition_key(last), CORPUS_TAG: CORPUS}
            finished.append(self.run(definitions, ingest_job_name(CORPUS), tags))
        if planned.delete or planned.process:
            assert self.run(definitions, refresh_job_name(CORPUS), {CORPUS_TAG: CORPUS}).success
        return finished

    def run(self, definitions, job, tags, config=None, selection=None):
        """Execute a job in process against the project's instance."""
        return definitions.resolve_job_def(job).execute_in_process(
            instance=self.instance,
            tags=tags,
            run_config={**QUIET, **(config or {})},
            raise_on_error=False,
            asset_selection=selection,
        )

    def states(self) -> dict[str, tuple[str, str | None]]:
        """State and reason by source."""
        return {
            state.source_id: (state.state, state.reason)
            for state in Ledger(self.state.ledger).sources(CORPUS)
            if state.present
        }

    def partitions(self, asset: str) -> dict[str, str]:
        """Materialized partitions of an asset with their data version."""
        key = dg.AssetKey([CORPUS, asset])
        found = {}
        for partition in self.instance.get_materialized_partitions(key):
            filters = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[partition])
            record = self.instance.fetch_materializations(filters, limit=1).records[0]
            found[partition] = record.asset_materialization.tags["dagster/data_version"]
        return found
