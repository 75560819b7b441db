"""Files come, change, move and go while `dagster dev` runs: the search follows, by sensor and by schedule."""

import time

import pytest

from stackroom.config import load_config
from stackroom.retrieval.search import Searcher
from tests.assets.test_live import CORPUS, serving

SETTINGS = "schedules: {sensor_seconds: 5, settle_seconds: 1, nightly: '* * * * *'}\n"
"""A short interval, and a night that falls on every minute."""

UNPLUGGED = "  unplugged: {folder: disk/papers}\n"

SWITCH = {
    kind: f"mutation($it: {kind}Selector!) {{ {switch}{kind}({kind.lower()}Selector: $it) {{ __typename }} }}"
    for kind, switch in (("Sensor", "start"), ("Schedule", "start"))
}
STATE = "query($it: SensorSelector!) { sensorOrError(sensorSelector: $it) { ... on Sensor { sensorState { id } } } }"
STOP = "mutation($id: String!) { stopSensor(id: $id) { __typename } }"
TICKS = """
query($it: SensorSelector!) {
  sensorOrError(sensorSelector: $it) {
    ... on Sensor { sensorState { ticks(limit: 40) { timestamp endTimestamp status skipReason runIds } } }
  }
}"""
RUNS = "{ runsOrError { ... on Runs { results { runId jobName status tags { key value } } } } }"


class Watched:
    """The running server, its corpus, and what a search in it finds."""

    def __init__(self, server) -> None:
        self.server = server
        self.docs = server.folder / "docs"

    def selector(self, kind: str, name: str) -> dict[str, str]:
        return {"repositoryLocationName": "stackroom", "repositoryName": "__repository__", f"{kind}Name": name}

    def start(self, kind: str, name: str) -> None:
        answer = self.server.ask(SWITCH[kind], it=self.selector(kind.lower(), name))
        assert "Error" not in answer[f"start{kind}"]["__typename"], answer

    def stop_sensor(self) -> None:
        state = self.server.ask(STATE, it=self.selector("sensor", f"watch_{CORPUS}"))["sensorOrError"]["sensorState"]
        self.server.ask(STOP, id=state["id"])

    def ticks(self, since: float, corpus: str = CORPUS) -> list[dict]:
        """Ended ticks of a sensor that began after a moment, oldest first."""
        answer = self.server.ask(TICKS, it=self.selector("sensor", f"watch_{corpus}"))
        ticks = answer["sensorOrError"]["sensorState"]["ticks"]
        return [tick for tick in reversed(ticks) if tick["timestamp"] >= since and tick["endTimestamp"]]

    def hits(self, query: str) -> list[str]:
        """Sources that contain the words of a query, as the keyword side finds them."""
        config = load_config(self.server.folder, {"STACKROOM_STATE": self.server.environment["STACKROOM_STATE"]})
        found = Searcher(config).search(query, [CORPUS], k=5)
        return [hit.source_id for hit in found.hits if query in hit.text]

    def wait(self, condition, what: str, seconds: float = 150.0):
        give_up = time.monotonic() + seconds
        while not (result := condition()):
            assert time.monotonic() < give_up, f"{what}\n{self.ticks(0)[-5:]}\n{self.server.log.read_text()[-2000:]}"
            time.sleep(1)
        return result

    def quiet(self) -> None:
        """Wait until a look finds nothing to do and nothing runs."""
        since = time.time()
        self.wait(
            lambda: (
                any("files unchanged" in (tick["skipReason"] or "") for tick in self.ticks(since))
                and all(run["status"] in ("SUCCESS", "FAILURE") for run in self.runs())
            ),
            "the sensor found no end",
        )

    def runs(self) -> list[dict]:
        return self.server.ask(RUNS)["runsOrError"]["results"]

    def reflects(self, changed: float, condition, what: str) -> None:
        """A change made at a moment is asked for by the second look at the latest, and found by a search."""
        self.wait(condition, what)
        looks = [tick for tick in self.ticks(changed) if tick["status"] != "FAILURE"]
        assert any(tick["runIds"] for tick in looks[:2]), (what, looks)


@pytest.fixture
def watched(tmp_path):
    """Return a running server that has taken in its first files."""
    with serving(tmp_path, SETTINGS, UNPLUGGED) as server:
        made = Watched(server)
        (made.docs / "broken.pdf").unlink()
        for name in (CORPUS, "unplugged"):
            made.start("Sensor", f"watch_{name}")
        made.wait(lambda: made.hits("herons") == ["a.md"] and made.hits("otters") == ["b.md"], "the first files")
        made.quiet()
        yield made


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_search_follows_the_folder_within_two_looks(watched):
    changed = time.time()
    (watched.docs / "c.md").write_text("# Gamma\n\nThe gamma note is about swallows under the roof.")
    (watched.docs / "d.md").write_text("# Delta\n\nThe delta note is about storks on the chimney.")
    watched.reflects(
        changed, lambda: watched.hits("swallows") == ["c.md"] and watched.hits("storks") == ["d.md"], "new files"
    )
    watched.quiet()

    changed = time.time()
    (watched.docs / "a.md").write_text("# Alpha\n\nThe alpha note is about kingfishers at the brook.")
    watched.reflects(
        changed, lambda: watched.hits("kingfishers") == ["a.md"] and watched.hits("herons") == [], "a changed file"
    )
    watched.quiet()

    changed = time.time()
    (watched.docs / "deep").mkdir()
    (watched.docs / "b.md").rename(watched.docs / "deep" / "renamed.md")
    watched.reflects(changed, lambda: watched.hits("otters") == ["deep/renamed.md"], "a renamed file")
    watched.quiet()

    changed = time.time()
    (watched.docs / "c.md").unlink()
    watched.reflects(changed, lambda: watched.hits("swallows") == [], "a deleted file")
    watched.quiet()

    # Settings edited while everything runs: the looks and the runs agree on them, so there is an end to it.
    changed = time.time()
    text = (watched.server.folder / "stackroom.yaml").read_text()
    (watched.server.folder / "stackroom.yaml").write_text(
        text.replace("{folder: docs}", "{folder: docs, chunking: {max_tokens: 64}}")
    )
    watched.reflects(changed, lambda: any(tick["runIds"] for tick in watched.ticks(changed)), "new settings")
    watched.quiet()

    # A corpus whose folder was missing when the server was started has kept nothing from working.
    reasons = {tick["skipReason"] for tick in watched.ticks(0, "unplugged")}
    assert len(reasons) == 1
    assert reasons.pop().startswith("the folder cannot be read, so nothing was changed: ")
    assert {run["status"] for run in watched.runs()} == {"SUCCESS"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_nightly_schedules_take_in_and_remove_without_a_sensor(watched):
    watched.stop_sensor()
    (watched.docs / "night.md").write_text("# Night\n\nThe night note is about owls in the barn.")
    (watched.docs / "a.md").unlink()
    assert watched.hits("owls") == []
    for name in (f"nightly_{CORPUS}", f"nightly_refresh_{CORPUS}"):
        watched.start("Schedule", name)
    watched.wait(lambda: watched.hits("owls") == ["night.md"] and watched.hits("herons") == [], "the night", 200)
    fired = {tag["value"] for run in watched.runs() for tag in run["tags"] if tag["key"] == "dagster/schedule_name"}
    assert fired == {f"nightly_{CORPUS}", f"nightly_refresh_{CORPUS}"}
