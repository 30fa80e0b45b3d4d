"""Serve the built book, with its own 404 page."""

from __future__ import annotations

import argparse
import http.server
import sys
from functools import partial
from pathlib import Path


class BookHandler(http.server.SimpleHTTPRequestHandler):
    """Static files; a missing one is answered with the book's 404 page, as Pages does."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer 404 with ``404.html``, everything else as the standard library does."""
        page = Path(self.directory) / "404.html"
        if code != http.HTTPStatus.NOT_FOUND or not page.is_file():
            super().send_error(code, message, explain)
            return
        body = page.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class QuietHandler(BookHandler):
    """The same without a line on the terminal for every file."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def make_server(
    folder: Path,
    port: int = 0,
    handler: type[BookHandler] = QuietHandler,
    host: str = "127.0.0.1",
) -> http.server.ThreadingHTTPServer:
    """A server of ``folder``; port 0 takes a free one.

    Raises:
        OSError: the port is taken, or the host is not this machine's.
    """
    return http.server.ThreadingHTTPServer((host, port), partial(handler, directory=str(folder)))


def main(argv: list[str] | None = None) -> int:
    """Serve until interrupted; 1 if that cannot be begun."""
    parser = argparse.ArgumentParser(prog="python -m booktools.serve", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 for the whole network")
    options = parser.parse_args(argv)
    try:
        server = make_server(options.folder, options.port, BookHandler, options.host)
    except OSError as error:
        print(
            f"{options.host}:{options.port} cannot be served: {error.strerror}. Another port or "
            "host: make serve PORT=8001 HOST=0.0.0.0",
            file=sys.stderr,
        )
        return 1
    with server:
        host = "localhost" if options.host == "127.0.0.1" else options.host
        print(f"http://{host}:{server.server_address[1]}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
