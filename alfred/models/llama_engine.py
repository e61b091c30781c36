"""llama.cpp in the process, through the xllamacpp package: plain blocking calls for one thread."""

from __future__ import annotations

import http.client
import importlib
import importlib.util
import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, cast
from urllib.parse import urlsplit

import psutil

from alfred.errors import ModelFailed
from alfred.models.prefix_cache import PrefixCache

PACKAGE = "xllamacpp"
BATCH_TOKENS = 64
"""Tokens read between two looks at the stop flag: below a second, at no cost in speed."""
MEMORY_CACHE_MIB = 256
MIN_PREFIX_CHARS = 200
"""A shorter prefix is read faster than its file."""
IDLE_PERCENT = 20.0
MARK = "\N{SYMBOL FOR RECORD SEPARATOR}"

ChunkSink = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What an engine is started with; `threads` 0 means "decide by load"."""

    path: Path
    sha256: str
    cache_folder: Path
    threads: int = 0
    context_tokens: int = 8192


class LlamaEngine:
    """One loaded model with one slot. Not thread-safe: every call comes from the same thread.

    The package always opens an HTTP listener, on a free port of the loopback interface. A key
    made up for this process keeps everybody else out of it; its slots are saved through it.
    A call whose `stop` is set ends within one batch, from then on without chunks.
    """

    def __init__(self, options: EngineOptions) -> None:
        package = _package()
        self._key = secrets.token_urlsafe(32)
        self._warm: set[str] = set()
        self._prefixes: dict[str, str] = {}
        version = str(getattr(package, "__version__", ""))
        self._cache = PrefixCache(options.cache_folder, f"{options.sha256} {version}")
        options.cache_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._server: Any = package.Server(self._params(package, options))
        except (RuntimeError, ValueError) as exc:
            raise ModelFailed(
                "model.corrupt",
                f"{options.path} cannot be loaded: {exc}.",
                hint="Fetch it again: alfred model pull.",
            ) from exc

    def _params(self, package: Any, options: EngineOptions) -> Any:
        threads = options.threads or free_threads()
        params = package.CommonParams()
        params.model.path = str(options.path)
        params.n_ctx = options.context_tokens
        params.n_parallel = 1
        params.n_batch = params.n_ubatch = BATCH_TOKENS
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cache_ram_mib = MEMORY_CACHE_MIB
        params.slot_save_path = f"{options.cache_folder}{os.sep}"
        params.api_keys = [self._key]
        params.n_threads_http = 1
        params.warmup = False
        params.ui = False
        params.verbosity = -1  # llama.cpp writes to stderr otherwise.
        return params

    def chat(self, body: Mapping[str, Any], on_chunk: ChunkSink, stop: Event) -> None:
        """Answer a chat-completions request in chunks, an error being the last of them.

        Errors: `model.refused` if the request cannot be turned into a prompt or a grammar.
        """
        streamed = {
            **body,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # Chunks while the prompt is read: a chance to stop.
            "cache_prompt": True,
        }
        self._run(self._server.handle_chat_completions, streamed, on_chunk, stop)

    def warm_up(self, system: str, stop: Event) -> None:
        """Have the state after a system message ready: from memory, a file, or by reading it.

        What is read is saved for the next process, without the user's words, which come later in
        the prompt. No failure is an error: the prompt is then read from its beginning.
        """
        prefix = self._prefix(system)
        if len(prefix) < MIN_PREFIX_CHARS or prefix in self._warm:
            return
        self._warm.add(prefix)
        found = self._cache.find(prefix)
        if found is not None and self._slot("restore", found.name):
            return
        failed: list[bool] = []
        self._run(
            self._server.handle_completions,
            {"prompt": prefix, "max_tokens": 0, "stream": True, "return_progress": True},
            lambda chunk: failed.append(True) if "error" in chunk else None,
            stop,
        )
        draft = self._cache.draft()
        if not failed and not stop.is_set() and self._slot("save", draft.name):
            self._cache.keep(prefix, draft)

    def close(self) -> None:
        """Free the model's memory now, whoever still refers to this object."""
        self._server = None

    def _run(self, call: Any, body: Mapping[str, Any], on_chunk: ChunkSink, stop: Event) -> None:
        def take(chunk: Any) -> bool:
            if not stop.is_set() and isinstance(chunk, dict):
                on_chunk(cast("dict[str, Any]", chunk))
            return stop.is_set()

        try:
            call(dict(body), take)
        except (ValueError, TypeError, RuntimeError) as exc:
            raise ModelFailed(
                "model.refused", f"The embedded model cannot take this request: {exc}"
            ) from exc

    def _prefix(self, system: str) -> str:
        """Write the prompt as the model's own template begins it, up to the user's first word."""
        if system not in self._prefixes:
            messages = [{"role": "system", "content": system}, {"role": "user", "content": MARK}]
            answer = self._post("/apply-template", {"messages": messages})
            prompt = str(answer.get("prompt", ""))
            self._prefixes[system] = prompt.rpartition(MARK)[0]
        return self._prefixes[system]

    def _slot(self, action: str, file_name: str) -> bool:
        return "error" not in self._post(f"/slots/0?action={action}", {"filename": file_name})

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        address = urlsplit(str(self._server.listening_address))
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            connection.request("POST", path, json.dumps(body), headers)
            answer = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError) as exc:
            return {"error": str(exc)}
        finally:
            connection.close()
        return (
            cast("dict[str, Any]", answer) if isinstance(answer, dict) else {"error": "no object"}
        )


def require_package() -> None:
    """Refuse where what runs embedded models is not installed; nothing is loaded.

    Errors: `model.not_installed`.
    """
    if importlib.util.find_spec(PACKAGE) is None:
        raise _not_installed("it is not installed")


def _package() -> Any:
    try:
        # 100 MB of native code: loaded with the model, not with the module, and optional.
        return importlib.import_module(PACKAGE)
    except ImportError as exc:
        raise _not_installed(str(exc)) from exc


def _not_installed(why: str) -> ModelFailed:
    return ModelFailed(
        "model.not_installed",
        f"The package {PACKAGE}, which runs embedded models, cannot be loaded ({why}).",
        hint='Install it: pip install "alfred-engine[embedded]".',
    )


def free_threads() -> int:
    """Choose how many threads decode: every core of an idle machine, otherwise all but one.

    llama.cpp's threads wait for each other at every layer: on two shared cores two threads wrote
    1.6 tokens a second where one wrote 14, on two idle ones 24.
    """
    cores = min(_usable_cores(), psutil.cpu_count(logical=False) or 1024)
    idle = psutil.getloadavg()[0] < cores and psutil.cpu_percent(interval=0.25) < IDLE_PERCENT
    return max(1, cores if idle else cores - 1)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
