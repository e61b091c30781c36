"""A chat-completions server that answers at once, in a process of its own.

It is no part of what is measured: its CPU is not counted, and no model thinks.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from bench.posting import answer_to

_PIECE_CHARS = 4
"""What one streamed event holds: about a token."""
_HEAD_END = b"\r\n\r\n"


class Answering(asyncio.Protocol):
    """One kept-alive connection: a request in, its answer out, whole or as a stream of events."""

    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while _HEAD_END in self._received:
            head, _, rest = self._received.partition(_HEAD_END)
            length = _content_length(head)
            if len(rest) < length:
                return
            self._received = rest[length:]
            self._transport.write(reply(json.loads(rest[:length])))


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


def reply(request: dict[str, Any]) -> bytes:
    """Make the HTTP response to a request for a completion."""
    content = answer_to(request["messages"][-1]["content"])
    kind, body = "application/json", json.dumps(_whole(request["model"], content)).encode()
    if request.get("stream"):
        kind, body = "text/event-stream", _events(request["model"], content)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


_USAGE = {"prompt_tokens": 400, "completion_tokens": 120, "total_tokens": 520}


def _whole(model: str, content: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
        "usage": _USAGE,
    }


def _events(model: str, content: str) -> bytes:
    frame = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1}

    def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {**frame, "model": model, "choices": [choice]}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    starts = range(0, len(content), _PIECE_CHARS)
    pieces = [event({"content": content[start : start + _PIECE_CHARS]}) for start in starts]
    usage = json.dumps({**frame, "model": model, "choices": [], "usage": _USAGE}).encode()
    return b"".join([*pieces, event({}, "stop"), b"data: " + usage, b"\n\ndata: [DONE]\n\n"])


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Whoever started it closes its standing input, also by dying.
    await asyncio.to_thread(sys.stdin.read)
    server.close()


@contextmanager
def model_server() -> Generator[str]:
    """Run the server beside the benchmark; give the address that a client's base URL names."""
    command = [sys.executable, "-m", "bench.model_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_serve())
