"""Forgetting a corpus or a record set, its partitions in Dagster included.

``python -m assets.forget NAME [--records]`` is what ``stackroom forget`` starts; it prints one JSON object.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import dagster as dg

from assets.in_flight import runs_of
from assets.partitions import known_sources, remove_sources
from resources.stores import shown_uri
from stackroom.config import Config, load_config
from stackroom.errors import ConfigError, StackroomError
from stackroom.records import forgetting as record_forgetting
from stackroom.records.naming import corpus_of
from stackroom.stages import forgetting
from stackroom.stages.corpus import write_stores_config
from stackroom.words import are, count


def forget_everything(
    config: Config,
    instance: dg.DagsterInstance,
    name: str,
    *,
    records: bool = False,
    dry_run: bool = False,
    leave_unreachable: bool = False,
) -> dict[str, Any]:
    """Delete what was made of a corpus or a record set, and say what there was.

    Args:
        config: the project's settings.
        instance: whose partitions are deleted.
        name: of the corpus, or of the record set.
        records: it is a record set.
        dry_run: only say what there is.
        leave_unreachable: see :func:`stackroom.stages.forgetting.forget`.

    Raises:
        ConfigError: stackroom.yaml names it, nothing is known of it, or a run is working on it.
        StoreError: a store cannot be reached.
    """
    library = record_forgetting if records else forgetting
    library.check_forgettable(config, name)
    corpus = corpus_of(name) if records else name
    partitions = known_sources(instance, corpus)
    found = library.traces(config, name)
    if not found.any and not partitions:
        raise ConfigError(f"nothing is known of a {'record set' if records else 'corpus'} {name!r}")
    if not dry_run:
        working = runs_of(instance, corpus)
        if working:
            raise ConfigError(
                f"{count(len(working), 'run')} of {name} {are(len(working))} queued or running; wait, or "
                "cancel in the UI"
            )
        library.forget(config, name, leave_unreachable=leave_unreachable)
        remove_sources(instance, corpus, partitions)
        write_stores_config(load_config(config.project_folder))
    return {
        "record_set" if records else "corpus": name,
        "dry_run": dry_run,
        "added": found.added,
        "sources": found.sources,
        "artefacts": found.artefacts,
        "keyword_index": found.index,
        "collections": [
            {"vector_store": shown_uri(uri), "collection": name, "rows": None if rows < 0 else rows}
            for uri, name, rows in found.collections
        ],
        "partitions": len(partitions),
    }


def main(arguments: list[str] | None = None) -> int:
    """Forget a corpus or a record set, print what there was of it as JSON, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m assets.forget")
    parser.add_argument("name")
    parser.add_argument("--records", action="store_true", help="it is a record set")
    parser.add_argument("--dry-run", action="store_true", help="only say what there is")
    parser.add_argument("--leave-unreachable", action="store_true", help="leave rows in stores that do not answer")
    options = parser.parse_args(arguments)
    try:
        answer = forget_everything(
            load_config(Path.cwd()),
            dg.DagsterInstance.get(),
            options.name,
            records=options.records,
            dry_run=options.dry_run,
            leave_unreachable=options.leave_unreachable,
        )
    except (StackroomError, OSError) as error:
        answer = {"error": str(error)}
    print(json.dumps(answer, ensure_ascii=False))  # noqa: T201 - this is the program's answer
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    sys.exit(main())
