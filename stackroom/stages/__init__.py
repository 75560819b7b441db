"""The stages a source goes through, one module each: read upstream artefacts, call the library, write an artefact.

Each ``run(work)`` returns an :data:`~stackroom.outcome.Outcome`. A stage knows its inputs and its output, not who runs
it: Dagster assets, tests and programs call the same functions. In order: ``source_document``, ``ocr_classification``,
``chunks``, ``metadata_map``, ``embeddings``, ``vector_collection``, ``bm25_corpus``, ``lint_report``.
"""
