"""A server that speaks to each connection as a test says, below HTTP if it likes."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable

Talk = Callable[[socket.socket], None]
PAGE = b"<html><body><p>Alder Labs seeks a Data Engineer in Leeds. You know SQL.</p></body></html>"


def http_answer(body: bytes, *, kind: str = "text/html", status: str = "200 OK") -> bytes:
    """Write an answer that closes its connection."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


def read_path(connection: socket.socket) -> str:
    """Read a request up to its empty line; give the path it asks for."""
    request = b""
    while b"\r\n\r\n" not in request:
        piece = connection.recv(4096)
        if not piece:
            return ""
        request += piece
    return request.split(b" ", 2)[1].decode()


def after_robots(talk: Talk) -> Talk:
    """Answer the question for robots.txt with 404; talk as told when asked for anything else."""

    def answer(connection: socket.socket) -> None:
        if read_path(connection) == "/robots.txt":
            connection.sendall(http_answer(b"", status="404 Not Found"))
        else:
            talk(connection)

    return answer


def over_tls(context: ssl.SSLContext, talk: Talk) -> Talk:
    """Talk through TLS."""

    def answer(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as safe:
            talk(safe)

    return answer


class RawSite:
    """Listens on the loopback interface until it is closed."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.connections = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # A client that refuses what it is told hangs up; that is what these tests are about.
        with contextlib.suppress(OSError), connection:
            self._talk(connection)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
