"""The real captions, where they are; and downloading, against a server of our own."""

import gzip
import hashlib
import http.server
import importlib
import random
import re
import threading

import pytest

from attnlab.download import fetch
from attnlab.tasks.multi30k import available, multi30k

loader = importlib.import_module("attnlab.tasks.multi30k")

real = pytest.mark.skipif(
    not available(), reason="Multi30k is neither in ATTNKIT_DATA nor in the cache"
)
CONTENT = random.Random(0).randbytes(200_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@real
@pytest.mark.parametrize(("split", "count"), [("train", 29000), ("valid", 1014), ("test", 1000)])
def test_real_captions_are_parallel(split, count):
    pairs = multi30k(split, "fr", "en", download=False)
    assert len(pairs) == count
    assert all(source and target for source, target in pairs)
    assert [english for _, english in multi30k(split, "de", "en")] == [e for _, e in pairs]


@pytest.fixture
def server():
    """A local server that keeps its requests and can misbehave."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state.requests.append(self.headers.get("Range"))
            wanted = re.match(r"bytes=(\d+)-", self.headers.get("Range") or "")
            start = int(wanted[1]) if wanted and state.resumes else 0
            if self.path == "/missing" or start >= len(state.content):
                self.send_error(416 if start else 404)
                return
            body = state.content[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: state.breaks_after])

        def log_message(self, *arguments):
            pass

    state = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.requests, state.resumes, state.breaks_after, state.content = [], True, None, CONTENT
    thread = threading.Thread(target=state.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{state.server_port}/file"
    yield state
    state.shutdown()
    thread.join()
    state.server_close()


def test_fetch_downloads_once(server, tmp_path):
    path = tmp_path / "deep" / "file.gz"
    assert fetch(server.url, path, SHA256) == path
    assert path.read_bytes() == CONTENT
    fetch(server.url, path, SHA256)
    assert len(server.requests) == 1
    assert [item.name for item in path.parent.iterdir()] == ["file.gz"]


@pytest.mark.parametrize("resumes", [True, False])
def test_fetch_goes_on_after_an_interruption(server, tmp_path, resumes):
    path = tmp_path / "file.gz"
    server.breaks_after, server.resumes = 70_000, resumes
    with pytest.raises(OSError, match=r"url: expected \d+ bytes, got 70000; call again"):
        fetch(server.url, path, SHA256)
    assert not path.exists()
    assert (tmp_path / "file.gz.part").stat().st_size == 70_000
    server.breaks_after = None
    fetch(server.url, path, SHA256)
    assert path.read_bytes() == CONTENT
    assert server.requests == [None, "bytes=70000-"]
    assert not (tmp_path / "file.gz.part").exists()


def test_fetch_removes_a_corrupted_file_and_can_start_again(server, tmp_path):
    path = tmp_path / "file.gz"
    server.content = CONTENT[:-1] + b"x"
    with pytest.raises(ValueError, match=r"file\.gz\.part: expected a file with SHA-256"):
        fetch(server.url, path, SHA256)
    assert list(tmp_path.iterdir()) == []
    server.content = CONTENT
    assert fetch(server.url, path, SHA256).read_bytes() == CONTENT


def test_fetch_takes_a_whole_part_and_drops_a_rotten_one(server, tmp_path):
    part = tmp_path / "file.gz.part"
    part.write_bytes(CONTENT)
    assert fetch(server.url, tmp_path / "file.gz", SHA256).read_bytes() == CONTENT
    part = tmp_path / "other.gz.part"
    part.write_bytes(b"rotten" * 20_000)
    with pytest.raises(ValueError, match="SHA-256"):
        fetch(server.url, tmp_path / "other.gz", SHA256)
    assert not part.exists()
    assert fetch(server.url, tmp_path / "other.gz", SHA256).read_bytes() == CONTENT


def test_fetch_refuses_a_spoilt_file_that_is_already_there(server, tmp_path):
    path = tmp_path / "file.gz"
    path.write_bytes(b"not it")
    with pytest.raises(ValueError, match=r"file\.gz: expected a file with SHA-256"):
        fetch(server.url, path, SHA256)
    assert path.exists(), "what the reader put there is the reader's"


def test_fetch_says_what_the_server_said(server, tmp_path):
    with pytest.raises(OSError, match=r"url: expected a file at .*, got .*404"):
        fetch(server.url.replace("file", "missing"), tmp_path / "file.gz", SHA256)
    url = server.url.replace(str(server.server_port), "1")
    with pytest.raises(OSError, match="url: expected an answer from"):
        fetch(url, tmp_path / "file.gz", SHA256, timeout=2)
    assert list(tmp_path.iterdir()) == []


def lines(language, number=3):
    return gzip.compress("".join(f"{language} {n}\n" for n in range(number)).encode(), mtime=0)


@pytest.fixture
def small(monkeypatch):
    files = {f"val.{language}.gz": lines(language) for language in ("de", "en", "fr")}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(loader, "SHA256", sums)
    monkeypatch.delenv("ATTNKIT_DATA", raising=False)
    return files


def test_captions_come_from_the_folder_named_first_then_attnkit_data(small, tmp_path, monkeypatch):
    for folder in (tmp_path / "a", tmp_path / "b" / "multi30k"):
        folder.mkdir(parents=True)
        for name, content in small.items():
            (folder / name).write_bytes(content)
    assert multi30k("valid", folder=tmp_path / "a") == [(f"de {n}", f"en {n}") for n in range(3)]
    monkeypatch.setenv("ATTNKIT_DATA", str(tmp_path / "b"))
    assert multi30k("valid", "fr", "de") == [(f"fr {n}", f"de {n}") for n in range(3)]
    assert available()
    (tmp_path / "b" / "multi30k" / "val.fr.gz").unlink()
    assert not available()
    with pytest.raises(FileNotFoundError, match=r"folder: expected val\.fr\.gz in .*multi30k"):
        multi30k("valid", "fr", "de")


def test_captions_are_downloaded_into_the_cache(small, server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(loader, "URL", server.url + "/")
    with pytest.raises(FileNotFoundError, match=r"val\.de\.gz"):
        multi30k("valid", "de", "en", download=False)
    server.content = small["val.de.gz"]
    with pytest.raises(ValueError, match=r"val\.en\.gz"):  # the server sends German for English
        multi30k("valid", "de", "en")
    server.content = small["val.en.gz"]
    assert multi30k("valid", "de", "en")[2] == ("de 2", "en 2")
    kept = {item.name for item in (tmp_path / "attnkit" / "multi30k").iterdir()}
    assert kept == {"val.de.gz", "val.en.gz"}
    assert multi30k("valid", "de", "en", download=False)[0] == ("de 0", "en 0")
