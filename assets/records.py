"""Assets `record_file` and `record_collections` of a record set: one partition per JSONL file.

The stages are `stackroom.records.record_file` and `stackroom.records.collections`; the loop, the events and the
failures are those of documents.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.events import FailedFile, run_failure
from assets.partitions import sources_partitions
from assets.per_file import FORCE_TAG, Listener, refreshes, run_stages, stage_events
from assets.pointers import Pointers
from assets.record_sets import refresh_events
from assets.show import table
from assets.stage_asset import StageAsset, Summary, asset_specs, check_specs, pool_of_store
from resources.bench import resource_key
from resources.records import RECORD_KINDS, record_bench_of
from stackroom.config import Config
from stackroom.identity import display_name, source_of_partition
from stackroom.records.bench import RecordWork, record_store_uri
from stackroom.records.ingest import STAGES, settings_digest, settle
from stackroom.records.naming import corpus_of


def show_file(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return counts, types, every refused line (as far as a table goes) and the findings."""
    lines = {"line": "int", "record_id": "string", "reason": "string"}
    return {
        "path": dg.MetadataValue.path(display_name(summary["path"])),
        "content_hash": dg.MetadataValue.text(summary["content_hash"]),
        "records": dg.MetadataValue.int(summary["records"]),
        "types": dg.MetadataValue.json(summary["types"]),
        "refused": dg.MetadataValue.int(summary["refused"]),
        "repeated": dg.MetadataValue.int(summary["repeated"]),
        "refused_lines": table(summary["refused_lines"], lines),
        "findings": table(summary["findings"], {"severity": "string", "rule": "string", "message": "string"}),
    }


def show_collections(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return backend, collections and what was written."""
    counts = ("records", "upserted", "deleted", "skipped", "embedded")
    return {
        "backend": dg.MetadataValue.text(summary["backend"]),
        "model": dg.MetadataValue.text(summary["model"]),
        "collections": dg.MetadataValue.json(summary["collections"]),
        **{name: dg.MetadataValue.int(summary[name]) for name in counts},
    }


RECORD_ASSETS = (
    StageAsset(
        stage=STAGES[0],
        description="The records of a JSONL file, flattened and checked, and every refused line with the reason.",
        kinds=frozenset({"file", "parquet"}),
        show=show_file,
        checks={
            "readable": "The file can be read and holds at least one record.",
            "nothing_refused": "Every line is a record that can be stored.",
            "ids_are_unique": "No record id stands in two lines.",
        },
        failure_check=("record_file", "readable"),
    ),
    StageAsset(
        stage=STAGES[1],
        description="The records of the file in the collections of their document types.",
        kinds=frozenset({"vectordb"}),
        show=show_collections,
        checks={"count_matches_records": "The collections hold as many rows of the file as it has records."},
        failure_check=("record_collections", "count_matches_records"),
    ),
)


def record_assets(config: Config, record_set: str, listener: Listener | None = None) -> dg.AssetsDefinition:
    """Return the per-file assets of a record set: one op that takes every file of the run through the stages."""
    corpus = corpus_of(record_set)
    partitions = sources_partitions(corpus)
    checks = check_specs(corpus, RECORD_ASSETS, partitions)

    @dg.multi_asset(
        name=f"ingest_files_{corpus}",
        specs=asset_specs(corpus, RECORD_ASSETS),
        check_specs=checks,
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.multi_run(config.schedules.partitions_per_run),
        can_subset=True,
        required_resource_keys={resource_key(corpus, kind) for kind in RECORD_KINDS},
        pool=pool_of_store(record_store_uri(config, record_set)),
    )
    def ingest_files(context: dg.AssetExecutionContext) -> Iterator[Any]:
        resources = {kind: getattr(context.resources, resource_key(corpus, kind)) for kind in RECORD_KINDS}
        chosen = {key.path[-1] for key in context.selected_asset_keys}
        selected = [stage for stage in RECORD_ASSETS if stage.name in chosen]
        sources = [source_of_partition(key) for key in context.partition_keys]
        force = context.run.tags.get(FORCE_TAG) == "true"
        failed: list[FailedFile] = []
        pointers = Pointers(context.instance, corpus)
        with record_bench_of(config, record_set, resources) as bench:
            settings = settings_digest(bench)
            for source_id in sources:
                outcomes = run_stages(RecordWork(bench, source_id, force), selected, {})
                verdict = settle(bench, source_id, outcomes, settings)
                if listener is not None:
                    listener(source_id, outcomes, verdict)
                yield from stage_events(corpus, selected, source_id, outcomes, failed, pointers)
            if "record_collections" in chosen and refreshes(context, corpus):
                yield from refresh_events(bench, pointers)
        for check in checks:
            if check.key in context.selected_asset_check_keys:
                yield dg.Output(None, output_name=check.get_python_identifier())
        if failed:
            raise run_failure(failed, len(sources))

    return ingest_files
