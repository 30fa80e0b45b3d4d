"""`make serve`: where it listens, and what it says when it cannot."""

import socket
import urllib.request
from threading import Thread

from booktools import serve


def test_a_port_that_is_taken_is_told_in_a_line(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert serve.main([str(tmp_path), "--port", str(port)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert f"127.0.0.1:{port} cannot be served" in said.err
    assert "make serve PORT=" in said.err


def test_it_can_be_reached_by_others(tmp_path):
    (tmp_path / "index.html").write_text("here")
    with serve.make_server(tmp_path, host="0.0.0.0") as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        host, port = server.server_address[:2]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/index.html") as answer:
            assert answer.read() == b"here"
        server.shutdown()
        thread.join()
    assert host == "0.0.0.0"
