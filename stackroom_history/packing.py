"""Packing Dagster's serialised events: the same phrases in every one of a million rows take nine tenths of the room."""

import zlib

_EVENT_START = '{"__class__": "'
"""What Dagster serialises begins with this; every other text of its tables (keys, names, paths) is left alone."""

_VERSION = b"\x01"
"""First byte of a packed value: number of the dictionary. A dictionary never changes; a better one gets a number."""

_PHRASES = (
    '{"__class__": "AssetObservation", {"__class__": "DagsterEventBatchMetadata", "partitions_subset": null '
    '{"__class__": "JsonMetadataEntryData", "data": {"__class__": "MarkdownMetadataEntryData", "md_str": "'
    '{"__class__": "FloatMetadataEntryData", "value": {"__class__": "TableMetadataEntryData", "records": '
    '[{"__class__": "TableRecord", "data": {"schema": {"__class__": "TableSchema", "columns": '
    '[{"__class__": "TableColumn", "constraints": {"__class__": "TableColumnConstraints", "nullable": true, '
    '"other": [], "unique": false}, "description": null, "name": "tags": {}, "type": "string"}, "type": "int"}, '
    '"constraints": {"__class__": "TableConstraints", "other": []}}'
    '{"__class__": "EventLogEntry", "dagster_event": {"__class__": "DagsterEvent", "event_specific_data": '
    '{"__class__": "AssetMaterializationPlannedData", "asset_key": {"__class__": "AssetKey", "path": ["", '
    '"partition": "", "partitions_subset": null}, "event_type_value": "ASSET_MATERIALIZATION_PLANNED", '
    '"logging_tags": {}, "message": " intends to materialize asset [\\"\\"]", "pid": null, "pipeline_name": "ingest_'
    '", "solid_handle": null, "step_handle": null, "step_key": "ingest_files_", "step_kind_value": null}, '
    '"event_specific_data": {"__class__": "AssetCheckEvaluation", "asset_key": {"__class__": "AssetKey", "path": ["'
    '"blocking": null, "check_name": "", "description": "", "metadata": {"result": '
    '{"__class__": "TextMetadataEntryData", "text": ""}}, "partition": "", "severity": '
    '{"__enum__": "AssetCheckSeverity.WARN"}, {"__enum__": "AssetCheckSeverity.ERROR"}, "success": true, '
    '"target_materialization_data": {"__class__": "AssetCheckEvaluationTargetMaterializationData", "run_id": "", '
    '"storage_id": , "timestamp": 17}}, "event_type_value": "ASSET_CHECK_EVALUATION", '
    "\"message\": \"Asset check '' on '' passed. Description: '\", \"user_message\": \"Asset check '' on '' passed. "
    'Description: \'"readable"parses"within_token_limit"no_text_lost"map_lint"vectors_valid"'
    'count_matches_manifest"loads"severity_gate"all vectors are finite, non-zero and complete '
    "rows through the loader that refuses every class and function rows in the store, in the manifest "
    'errors, warnings; of the words are in no chunk; longest chunk tokens, limit all pages were read"'
    '{"__class__": "StepMaterializationData", "asset_lineage": [], "materialization": '
    '{"__class__": "AssetMaterialization", "asset_key": {"__class__": "AssetKey", "path": ["", "source_document"]}, '
    '"ocr_classification"]}, "chunks"]}, "metadata_map"]}, "embeddings"]}, "vector_collection"]}, "bm25_corpus"]}, '
    '"lint_report"]}, "description": null, "metadata_entries": ['
    '{"__class__": "EventMetadataEntry", "description": null, "entry_data": {"__class__": "PathMetadataEntryData", '
    '"path": "/"}, "label": "path"}, {"__class__": "EventMetadataEntry", "description": null, "entry_data": '
    '{"__class__": "IntMetadataEntryData", "value": 0}, "label": "chunk_count"}, '
    '{"__class__": "EventMetadataEntry", "description": null, "entry_data": '
    '{"__class__": "TextMetadataEntryData", "text": "none"}, "label": "'
    '{"__class__": "EventMetadataEntry", "description": null, "entry_data": '
    '{"__class__": "BoolMetadataEntryData", "value": false}, "label": "unchanged"}], "partition": "", '
    '"tags": {"dagster/code_version": "1", "dagster/data_version": "", "dagster/input_event_pointer/", '
    '"dagster/input_data_version/"}}}, "event_type_value": "ASSET_MATERIALIZATION", '
    '"logging_tags": {"job_name": "ingest_", "op_name": "ingest_files_", "resource_fn_name": "None", '
    '"resource_name": "None", "run_id": "", "step_key": "ingest_files_"}, "message": "Materialized value ", '
    '"pid": , "pipeline_name": "ingest_", "solid_handle": {"__class__": "SolidHandle", "name": "ingest_files_", '
    '"parent": null}, "step_handle": {"__class__": "StepHandle", "key": "ingest_files_", "solid_handle": '
    '{"__class__": "SolidHandle", "name": "ingest_files_", "parent": null}}, "step_key": "ingest_files_", '
    '"step_kind_value": "COMPUTE"}, "error_info": null, "level": 10, "message": "", "pipeline_name": "ingest_", '
    '"run_id": "", "step_key": "ingest_files_", "timestamp": 17, "user_message": "Materialized value ."}'
)
_DICTIONARIES = {_VERSION: _PHRASES.encode()}


def pack(text: str | None) -> str | bytes | None:
    """Return what is stored for a value of a text column: packed bytes for a serialised object, else the text."""
    if text is None or not text.startswith(_EVENT_START):
        return text
    compressor = zlib.compressobj(level=6, wbits=-15, zdict=_DICTIONARIES[_VERSION])
    return _VERSION + compressor.compress(text.encode()) + compressor.flush()


def unpack(stored: str | bytes | None) -> str | None:
    """Return the text that was stored, packed or (by Dagster itself, in older records) not.

    Raises:
        ValueError: the bytes were packed by a newer version, or are damaged.
    """
    if stored is None or isinstance(stored, str):
        return stored
    dictionary = _DICTIONARIES.get(stored[:1])
    if dictionary is None:
        raise ValueError("an event in Dagster's records was packed by a newer version of Stackroom; update this one")
    try:
        return zlib.decompressobj(wbits=-15, zdict=dictionary).decompress(stored[1:]).decode()
    except zlib.error as error:
        raise ValueError(f"an event in Dagster's records is damaged: {error}") from error
