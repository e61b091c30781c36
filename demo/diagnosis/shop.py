"""A small checkout service to diagnose: real HTTP, a real connection pool, a real log file.

It reads its configuration and schema from a git repository, again on SIGHUP; a fault is a commit
there. The standard library is all it needs.
"""

from __future__ import annotations

import argparse
import logging
import random
import signal
import sys
import threading
import time
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType

CONFIG_FILE = "config/checkout.toml"
SCHEMA_FILE = "schema/orders.sql"
INDEX = "orders_by_customer"

INDEXED_S, SCAN_S = 0.12, 0.6
"""How long the query of an order takes with the index, and reading the whole table without."""
BASKET_BYTES = 100_000
MOST_BASKETS = 2_000
"""Where no limit is configured, so that the demonstration never fills the machine: 200 MB."""
BOUNDS_S = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0)

log = logging.getLogger("checkout")


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the repository says about the service; `max_baskets` 0 means no limit."""

    pool_size: int
    wait_s: float
    max_baskets: int
    has_index: bool


def read_config(repository: Path) -> Config:
    """Read configuration and schema as they are checked out."""
    values = tomllib.loads((repository / CONFIG_FILE).read_text(encoding="utf-8"))
    schema = (repository / SCHEMA_FILE).read_text(encoding="utf-8")
    return Config(
        pool_size=values["database"]["pool_size"],
        wait_s=values["database"]["wait_timeout_ms"] / 1000,
        max_baskets=values["baskets"]["max_entries"],
        has_index=f"CREATE INDEX {INDEX}" in schema,
    )


class PoolExhausted(Exception):
    """No connection came free in time."""


class Pool:
    """Database connections, of which only so many are in use at once."""

    def __init__(self, size: int, wait_s: float) -> None:
        self.size = size
        self.wait_s = wait_s
        self.in_use = 0
        self.waiting = 0
        self._free = threading.Semaphore(size)
        self._counts = threading.Lock()

    @contextmanager
    def connection(self) -> Generator[None]:
        """Hold a connection; raise `PoolExhausted` where none comes free in time."""
        with self._counts:
            self.waiting += 1
        got = self._free.acquire(timeout=self.wait_s)
        with self._counts:
            self.waiting -= 1
            self.in_use += got
        if not got:
            raise PoolExhausted
        try:
            yield
        finally:
            with self._counts:
                self.in_use -= 1
            self._free.release()


class Histogram:
    """Durations in buckets, as Prometheus reads them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._counts = [0] * len(BOUNDS_S)
        self._count = 0
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        with self._lock:
            self._count += 1
            self._sum += seconds
            for index, bound in enumerate(BOUNDS_S):
                self._counts[index] += seconds <= bound

    def lines(self) -> list[str]:
        """Write it in the text format."""
        with self._lock:
            buckets = zip(BOUNDS_S, self._counts, strict=True)
            found = [f'{self._name}_bucket{{le="{bound}"}} {n}' for bound, n in buckets]
            found.append(f'{self._name}_bucket{{le="+Inf"}} {self._count}')
            found.append(f"{self._name}_sum {self._sum:.6f}")
            found.append(f"{self._name}_count {self._count}")
        return [f"# TYPE {self._name} histogram", *found]


class Checkout:
    """The service itself, without HTTP."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._baskets: dict[int, bytes] = {}
        self._orders = 0
        self._answers = {200: 0, 503: 0}
        self._requests = Histogram("checkout_request_duration_seconds")
        self._queries = Histogram("checkout_query_duration_seconds")
        self._apply(read_config(repository))

    def reload(self) -> None:
        """Take over what the repository says now; requests under way keep the old pool."""
        self._apply(read_config(self._repository))

    def _apply(self, config: Config) -> None:
        self._config = config
        self._pool = Pool(config.pool_size, config.wait_s)
        index = INDEX if config.has_index else "none"
        log.info(
            "configuration loaded: pool_size=%d wait_timeout_ms=%d max_entries=%d index=%s",
            config.pool_size,
            config.wait_s * 1000,
            config.max_baskets,
            index,
        )

    def place_order(self) -> int:
        """Place one order; return the HTTP status."""
        began = time.monotonic()
        with self._lock:
            self._orders += 1
            order = self._orders
        pool = self._pool
        try:
            with pool.connection():
                self._query(order)
        except PoolExhausted:
            status = 503
            waited_ms = (time.monotonic() - began) * 1000
            log.error(
                "order %d failed: no database connection came free in %d ms"
                " (pool_size=%d in_use=%d waiting=%d)",
                order,
                waited_ms,
                pool.size,
                pool.in_use,
                pool.waiting,
            )
        else:
            status = 200
            self._keep_basket(order)
            log.info("order %d placed in %d ms", order, (time.monotonic() - began) * 1000)
        self._requests.observe(time.monotonic() - began)
        with self._lock:
            self._answers[status] += 1
        return status

    def _query(self, order: int) -> None:
        began = time.monotonic()
        time.sleep(random.uniform(0.9, 1.1) * (INDEXED_S if self._config.has_index else SCAN_S))  # noqa: S311
        took_s = time.monotonic() - began
        self._queries.observe(took_s)
        if not self._config.has_index:
            log.warning(
                "slow query for order %d: %d ms, sequential scan of orders by customer_id",
                order,
                took_s * 1000,
            )

    def _keep_basket(self, order: int) -> None:
        """Keep the basket for "order again"; the oldest go where there is a limit."""
        limit = self._config.max_baskets
        with self._lock:
            self._baskets[order] = random.randbytes(BASKET_BYTES)  # noqa: S311
            while len(self._baskets) > (limit or MOST_BASKETS):
                self._baskets.pop(next(iter(self._baskets)))
            kept = len(self._baskets)
        if not limit and kept % 100 == 0:
            size_mb = kept * BASKET_BYTES / 1e6
            log.warning("basket cache holds %d baskets, %d MB, without a limit", kept, size_mb)

    def metrics(self) -> str:
        """Write every figure in Prometheus' text format."""
        pool = self._pool
        with self._lock:
            answers = dict(self._answers)
            baskets = len(self._baskets)
        gauges = {
            "checkout_pool_size": pool.size,
            "checkout_pool_connections_in_use": pool.in_use,
            "checkout_pool_waiters": pool.waiting,
            "checkout_baskets": baskets,
            "checkout_basket_bytes": baskets * BASKET_BYTES,
        }
        lines = ["# TYPE checkout_requests_total counter"]
        lines += [f'checkout_requests_total{{status="{s}"}} {n}' for s, n in answers.items()]
        for name, value in gauges.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value}"]
        lines += [*self._requests.lines(), *self._queries.lines()]
        return "\n".join(lines) + "\n"


class Server(ThreadingHTTPServer):
    """The service behind HTTP; a burst of connections waits instead of being refused."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, checkout: Checkout, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.checkout = checkout


class Handler(BaseHTTPRequestHandler):
    """Answers GET of /checkout, /healthz and /metrics."""

    def do_GET(self) -> None:
        """Answer one request."""
        assert isinstance(self.server, Server)
        checkout = self.server.checkout
        if self.path == "/checkout":
            status = checkout.place_order()
            self._send(status, "placed\n" if status == 200 else "try again later\n")
        elif self.path == "/metrics":
            self._send(200, checkout.metrics())
        elif self.path == "/healthz":
            self._send(200, "ok\n")
        else:
            self._send(404, "there is no such page\n")

    def _send(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up waiting

    def log_message(self, format: str, *args: object) -> None:
        """Leave the log to the service's own lines."""


def main() -> None:
    """Serve until standard input closes; the first line of output is the port."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repository", type=Path, required=True)
    options.add_argument("--log", type=Path, required=True)
    options.add_argument("--port", type=int, default=0)
    chosen = options.parse_args()
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(
        filename=chosen.log,
        level=logging.INFO,
        format="%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
    )
    checkout = Checkout(chosen.repository)
    server = Server(checkout, chosen.port)

    def reload(_: int, __: FrameType | None) -> None:
        checkout.reload()

    signal.signal(signal.SIGHUP, reload)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()  # closes with whoever started this, however that one ended
    server.shutdown()


if __name__ == "__main__":
    main()
