"""`make demo`: three made-up postings from capture to stored rows, as a newcomer would do it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ALFRED = [sys.executable, "-m", "alfred"]
STILL_PENDING = 3
# The rows of the demonstration belong to a user of their own; models and server are shared.
ENVIRONMENT = {**os.environ, "ALFRED_USER": os.environ.get("ALFRED_USER", "demo")}
INTERACTIVE = sys.stdin.isatty() and sys.stdout.isatty()


def main() -> int:
    """Run the demonstration; return the exit code."""
    if not INTERACTIVE:
        print(
            "There is no terminal to ask for approval: --yes is used; it approves only what",
            flush=True,
        )
        print("stands in the source. The rest is discarded.", flush=True)
    download = subprocess.Popen(
        [*ALFRED, "model", "pull"],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    print("The embedded model downloads in the background (nothing to do if it is here).\n")
    title("1. A saved page with schema.org data, which need not wait for the model.")
    began = time.monotonic()
    code = capture(HERE / "posting.html")
    print(f"({time.monotonic() - began:.1f} s)", flush=True)
    title("2. The embedded model.")
    # The first download goes on; this command waits for it and shows its progress.
    pulled = alfred("model", "pull")
    download.wait()
    if pulled:
        print("Without the model the demonstration ends here; `alfred model pull` resumes.")
        return pulled
    title("3. A Chinese posting as plain text, read by the model.")
    code = capture(HERE / "posting_zh.txt") or code
    title("4. An English posting as plain text.")
    code = capture(HERE / "posting_en.txt") or code
    title("5. What is stored now, and the path the last turn took.")
    code = alfred("job", "list") or code
    code = alfred("trace") or code
    return code


def capture(posting: Path) -> int:
    """Capture a posting and decide its proposal; return 0 if it was written."""
    code = alfred("capture", str(posting), "--review" if INTERACTIVE else "--no-review")
    if INTERACTIVE or code != STILL_PENDING:
        return 0 if code == STILL_PENDING else code
    # Nobody is there to look at what the model says and the source does not: it is discarded.
    return alfred("review", "--yes", "--discard-rest")


def alfred(*arguments: str) -> int:
    """Run one command where everybody can see it; return its exit code."""
    shown = [f"demo/{Path(a).name}" if a.startswith(str(HERE)) else a for a in arguments]
    print(f"$ alfred {' '.join(shown)}", flush=True)
    return subprocess.run([*ALFRED, *arguments], env=ENVIRONMENT, check=False).returncode


def title(text: str) -> None:
    """Begin a part."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
