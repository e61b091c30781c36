"""Sends requests to an address at a steady rate, whether or not earlier ones were answered."""

from __future__ import annotations

import argparse
import http.client
import sys
import threading
import time

TIMEOUT_S = 10.0
MOST_AT_ONCE = 200


def ask(port: int, path: str, places: threading.Semaphore) -> None:
    """Send one request and read its answer; a failure is the server's to count."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return
    finally:
        connection.close()
        places.release()


def send(port: int, path: str, rate: float) -> None:
    """Start `rate` requests a second; what the machine was too busy to send is left out."""
    places = threading.Semaphore(MOST_AT_ONCE)
    while True:
        if places.acquire(blocking=False):
            threading.Thread(target=ask, args=(port, path, places), daemon=True).start()
        time.sleep(1 / rate)


def main() -> None:
    """Send until standard input closes."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--path", default="/checkout")
    options.add_argument("--rate", type=float, default=25.0, help="requests a second")
    chosen = options.parse_args()
    arguments = (chosen.port, chosen.path, chosen.rate)
    threading.Thread(target=send, args=arguments, daemon=True).start()
    sys.stdin.read()  # closes with whoever started this, however that one ended


if __name__ == "__main__":
    main()
