"""Runs a command until standard input closes, so that it never outlives who started it."""

from __future__ import annotations

import subprocess
import sys
import threading


def main() -> int:
    """Run the command given as arguments; return its exit code, 0 where it was told to stop."""
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)

    def stop_at_the_end() -> None:
        sys.stdin.read()
        command.terminate()

    threading.Thread(target=stop_at_the_end, daemon=True).start()
    return max(command.wait(), 0)


if __name__ == "__main__":
    sys.exit(main())
