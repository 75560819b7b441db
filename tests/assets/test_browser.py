"""The UI as people see it: a real Chromium over `dagster dev`, driven through the pages the documentation names."""

import contextlib
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.assets.test_live import CORPUS, PARTITIONS, Server, serving

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs Debian's packages chromium and chromium-driver"),
]

HOSTILE_TITLE = "<img src=x onerror=\"document.title='owned'\"> [click](javascript:alert(1)) **Visitors**"
HOSTILE = f"""<html><head><title>{HOSTILE_TITLE.replace("<", "&lt;").replace(">", "&gt;")}</title></head>
<body><h1>&lt;script&gt;document.title='owned'&lt;/script&gt; Visitors | and | guests</h1>
<p>The visitors' book names the guests of the reading room, who came to read about herons.</p></body></html>"""

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)

MATERIALIZATIONS = """
query($key: AssetKeyInput!, $partition: String!) {
  assetNodeOrError(assetKey: $key) { ... on AssetNode { assetMaterializations(partitions: [$partition]) { runId } } }
}"""

ADD_PARTITION = """
mutation($selector: RepositorySelector!) {
  addDynamicPartition(repositorySelector: $selector, partitionsDefName: "x", partitionKey: "y") { __typename }
}"""


class Page:
    """A browser window on a server; everything waits for what it looks for."""

    def __init__(self, driver, port: int) -> None:
        self.driver = driver
        self.port = port

    def open(self, path: str) -> None:
        self.driver.get(f"http://127.0.0.1:{self.port}{path}")

    @property
    def text(self) -> str:
        return " ".join(self.driver.execute_script("return document.body.innerText").split())

    def shows(self, *wanted: str, within: float = 60) -> str:
        """Wait until the page shows all the texts; return all of its text."""
        give_up = time.monotonic() + within
        while missing := [one for one in wanted if one not in self.text]:
            assert time.monotonic() < give_up, f"{self.driver.current_url} does not show {missing}:\n{self.text}"
            time.sleep(0.5)
        return self.text

    def click(self, xpath: str, within: float = 60) -> None:
        """Click the last visible element of an XPath."""
        from selenium.common.exceptions import WebDriverException

        give_up = time.monotonic() + within
        while True:
            found = [one for one in self.driver.find_elements("xpath", xpath) if one.is_displayed()]
            with contextlib.suppress(WebDriverException):
                if found:
                    found[-1].click()
                    return
            assert time.monotonic() < give_up, f"{self.driver.current_url} has no {xpath}:\n{self.text}"
            time.sleep(0.5)

    def partition(self, asset: str, file: str) -> None:
        """Open the Partitions tab of an asset at a file."""
        self.open(f"/assets/{CORPUS}/{asset}?view=partitions&partition={file}")
        self.shows("Partitions Selected", file)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return a running server whose corpus also holds a page with a hostile title."""
    folder = tmp_path_factory.mktemp("browser")
    with serving(folder, "schedules: {sensor_seconds: 5}\n") as running:
        (running.folder / "docs" / "visitors.html").write_text(HOSTILE)
        yield running


@pytest.fixture(scope="module")
def page(server, tmp_path_factory):
    """Return a browser on the server, after its sensor was switched on in the browser and took the corpus in."""
    pytest.importorskip("selenium", reason="needs selenium, which `make install-dev` installs")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        made = Page(driver, server.port)
        made.open("/automation")
        made.shows("watch_notes", "nightly_notes")
        made.click("//tr[contains(., 'watch_notes')]//label | //*[text()='watch_notes']/following::label[1]")
        wait_for(server, materialized={"a.md", "b.md", "visitors.html"}, failed={"broken.pdf"})
        yield made
    finally:
        driver.quit()


def wait_for(server: Server, materialized: set[str], failed: set[str]) -> None:
    give_up = time.monotonic() + 240
    while True:
        (node,) = server.ask(PARTITIONS, keys=[{"path": [CORPUS, "lint_report"]}])["assetNodes"]
        statuses = node["assetPartitionStatuses"]
        reached = set(statuses["materializedPartitions"]), set(statuses["failedPartitions"])
        if reached == (materialized, failed):
            return
        assert time.monotonic() < give_up, (reached, server.log.read_text()[-3000:])
        time.sleep(1)


def test_the_graph_of_a_corpus_shows_all_its_assets_and_no_sign_up_form(page):
    page.open(f"/asset-groups/stackroom/{CORPUS}")
    text = page.shows("source_document", "chunks", "vector_collection", "bm25_index", "stores_config")
    assert "Join the Dagster community" not in text


def test_partitions_show_metadata_and_nothing_is_out_of_step(page):
    page.partition("chunks", "a.md")
    text = page.shows("Failed (1)", "Materialized (3)", "chunk_count", "token_histogram", "missing_pages none")
    assert "Unsynced" not in text
    assert "&#" not in text


def test_a_failed_file_says_why(page):
    page.partition("chunks", "broken.pdf")
    page.shows("failed, and did not materialize this asset")
    page.click("//button[contains(., 'View all historical events')]")
    page.shows("Historical events for broken.pdf")
    page.click("//*[starts-with(text(), 'Historical events')]/following::*[text()='broken.pdf']")
    page.shows("empty: ", "remedy")


def test_the_partitions_of_a_check_say_which_files_passed(page):
    page.open(f"/assets/{CORPUS}/source_document?view=checks&checkDetail=readable")
    page.shows("The file can be opened", "Execution history")
    page.click("//*[text()='Execution history']/following::*[text()='Partitions']")
    page.shows("Failed (1)", "Passed (3)", "Missing (0)")


def test_the_corpus_report_names_what_failed_and_how_to_try_again(page):
    page.open(f"/assets/{CORPUS}/corpus_lint_report?view=checks&checkDetail=nothing_quarantined")
    page.shows("1 file is not searchable", "stackroom ingest --retry")
    page.click("//*[contains(text(), 'Show Markdown')]")
    assert "&#" not in page.shows("broken.pdf", "empty")


def test_the_lint_report_is_a_table_and_a_hostile_title_stays_text(page):
    page.partition("lint_report", "visitors.html")
    text = page.shows("severity", "rule", "message", "missing_year", "samples")
    assert "&#" not in text
    page.partition("metadata_map", "visitors.html")
    page.shows(HOSTILE_TITLE, "evidence")
    page.partition("chunks", "visitors.html")
    page.shows("first_chunks")
    with contextlib.suppress(AssertionError):
        page.click("//*[contains(text(), 'Show Markdown')]", within=3)
    page.shows("<script>document.title='owned'</script>")
    assert "owned" not in page.driver.title
    assert page.driver.find_elements("xpath", "//img[@src='x'] | //a[starts-with(@href, 'javascript')]") == []


def test_one_file_is_materialized_from_the_browser(page, server):
    asked = {"key": {"path": [CORPUS, "chunks"]}, "partition": "b.md"}

    def runs() -> int:
        return len(server.ask(MATERIALIZATIONS, **asked)["assetNodeOrError"]["assetMaterializations"])

    before = runs()
    page.partition("chunks", "b.md")
    page.click("//button[contains(., 'Materialize')]")
    page.shows("Launch runs to materialize", "1 partition")
    page.click("//button[contains(., 'Launch 1 run')]")
    give_up = time.monotonic() + 120
    while runs() == before:
        assert time.monotonic() < give_up, server.log.read_text()[-3000:]
        time.sleep(1)


def test_the_launchpad_lists_every_resource_with_its_settings(page):
    page.open(f"/locations/stackroom/jobs/ingest_{CORPUS}/playground")
    page.shows("notes__converter", "notes__embedder", "notes__vector_store", "merge_peers", "No errors")


def test_a_read_only_server_shows_everything_and_changes_nothing(page, server):
    reader = Server(server.folder, server.log.parent)
    command = [str(Path(sys.executable).parent / "dagster-webserver"), "--host", "127.0.0.1", "--read-only"]
    with (server.log.parent / "reader.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--port", str(reader.port)], cwd=server.folder, env=reader.environment, stdout=log, stderr=log
        )
    try:
        give_up = time.monotonic() + 120
        while time.monotonic() < give_up:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{reader.port}/server_info", timeout=10).close()
                break
            time.sleep(0.5)
        selector = {"repositoryName": "__repository__", "repositoryLocationName": "stackroom"}
        refused = reader.ask(ADD_PARTITION, selector=selector)["addDynamicPartition"]["__typename"]
        assert refused == "UnauthorizedError"
        looking = Page(page.driver, reader.port)
        looking.partition("chunks", "a.md")
        looking.shows("chunk_count")
        button = page.driver.find_element("xpath", "//button[contains(., 'Materialize')]")
        assert not button.is_enabled()
    finally:
        process.terminate()
        process.wait(30)
