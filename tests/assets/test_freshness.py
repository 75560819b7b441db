"""When a corpus counts as stale in the UI."""

import datetime as dt

from assets.build import build_defs


def policies(project):
    """Return hours until warning and failure by asset, of the assets that have a policy."""
    graph = build_defs(project.config).resolve_asset_graph()
    nodes = [graph.get(key) for key in graph.get_all_asset_keys()]
    found = {node.key.path[-1]: node.freshness_policy for node in nodes if node.freshness_policy is not None}
    return {name: (one.warn_window.to_timedelta(), one.fail_window.to_timedelta()) for name, one in found.items()}


def test_what_is_made_of_all_files_counts_as_stale_after_the_time_that_is_set(project):
    hours = dt.timedelta(hours=1)
    made_of_all = ("bm25_index", "corpus_lint_report", "stores_config")
    assert policies(project) == dict.fromkeys(made_of_all, (126 * hours, 168 * hours))
    path = project.root / "stackroom.yaml"
    settings = path.read_text()
    path.write_text(settings + "schedules: {stale_after_hours: 36}\n")
    assert policies(project) == dict.fromkeys(made_of_all, (27 * hours, 36 * hours))
    path.write_text(settings + "schedules: {stale_after_hours: null}\n")
    assert policies(project) == {}
