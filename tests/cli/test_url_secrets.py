"""A signed URL is read, and what gives access is in nothing that commands write."""

import importlib.util
import threading
import traceback
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

import synctax
from synctax.errors import SynctaxError
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("fsspec") and importlib.util.find_spec("aiohttp")),
    reason="fsspec and aiohttp are needed to read from the web",
)
EXAMPLE = ROOT / "examples" / "tp4-fsdp2"
SECRETS = "hunter2", "0f3a/b"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and tells nobody."""

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture(scope="module")
def urls():
    server = ThreadingHTTPServer(("localhost", 0), partial(Quiet, directory=str(EXAMPLE)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    start = f"http://me:{SECRETS[0]}@localhost:{server.server_port}"
    yield lambda *ranks: [f"{start}/rank{n}.json.gz?sig={SECRETS[1]}" for n in ranks]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("arguments", [
    ["inspect", "-v"],
    ["measure", "--format", "json", "--no-cache"],
    ["report", "-o", "page.html", "--no-cache"],
    ["overlay", "-o", "overlay.json", "--no-cache"],
])  # fmt: skip
def test_no_secret_is_written(run, urls, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments, *urls(0, 1), "--workers", "1")
    assert done.exit_code == 0, done.stderr
    written = [path.read_text() for path in tmp_path.iterdir() if path.is_file()]
    for text in (done.stdout, done.stderr, *written):
        assert not any(secret in text for secret in (*SECRETS, "sig="))
    assert any("rank0.json.gz" in text for text in (done.stdout, *written))


def test_what_is_not_there_is_named_without_them(run, urls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("inspect", *urls(77))
    assert done.exit_code != 0
    assert "rank77.json.gz" in done.stderr
    assert not any(secret in done.stderr for secret in (*SECRETS, "sig="))


def test_a_workspace_holds_none_and_later_commands_ask_for_the_url(
    run, urls, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    given = urls(0, 1)
    first = run("measure", *given, "--workers", "1", "--format", "json")
    assert first.exit_code == 0, first.stderr
    written = [path for path in (tmp_path / ".synctax").rglob("*") if path.is_file()]
    assert "last_measure.json" in {path.name for path in written}
    for path in written:
        text = path.read_bytes().decode("latin-1")
        assert not any(secret in text for secret in (*SECRETS, "sig="))
    again = run("attribute", "--workers", "1")
    assert again.exit_code == 1
    assert "name the traces again" in again.stderr
    assert "rank0.json.gz" in again.stderr
    named = run("attribute", *given, "--workers", "1")
    assert named.exit_code == 0, named.stderr


def test_a_url_without_secrets_is_found_again(run, urls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = [url.split("?")[0].replace(f"me:{SECRETS[0]}@", "") for url in urls(0, 1)]
    assert run("measure", *plain, "--workers", "1").exit_code == 0
    again = run("attribute", "--workers", "1")
    assert again.exit_code == 0, again.stderr
    assert f"using {plain[0]}" in again.stderr


def test_errors_in_python_hold_none(urls):
    with pytest.raises(SynctaxError) as told:
        synctax.load(urls(77))
    text = "".join(traceback.format_exception(told.value))
    assert "rank77.json.gz" in text
    shown = [line for line in text.splitlines() if "urls(77)" not in line]
    assert not any(secret in line for line in shown for secret in (*SECRETS, "sig="))
