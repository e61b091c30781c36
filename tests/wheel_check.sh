#!/usr/bin/env bash
# Builds the wheel, installs it into an empty environment outside the tree, and captures with it a
# page whose company is made up at this moment, up to the stored row; then opens the web client that
# the wheel brings along. Needs no model.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
python="$repository/.venv/bin/python"
place=$(mktemp -d)
chmod 711 "$place" # for root, PostgreSQL runs as a user of its own, who has to walk through
alfred="$place/venv/bin/alfred"

# Nothing of the caller's configuration: the wheel has to work with what a newcomer has.
unset ${!ALFRED_@} PYTHONPATH
export ALFRED_HOME="$place/home"

server=
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null && wait "$server" || true; fi
  if [ -x "$alfred" ]; then "$alfred" db stop || true; fi
  rm -rf "$place"
}
trap finish EXIT

"$python" -m build --wheel --no-isolation --outdir "$place/dist" "$repository" >"$place/build.log" 2>&1 ||
  { cat "$place/build.log"; exit 1; }
"$python" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  -c "$repository/constraints.txt" "$place"/dist/*.whl

company="Tidewater Instruments $RANDOM$RANDOM"
title="Calibration Engineer $RANDOM"
cat >"$place/posting.html" <<PAGE
<!doctype html>
<html lang="en"><head><title>$title</title>
<script type="application/ld+json">
{"@context": "https://schema.org", "@type": "JobPosting", "title": "$title",
 "hiringOrganization": {"@type": "Organization", "name": "$company"},
 "jobLocation": {"@type": "Place", "address": {"addressLocality": "Hamburg"}},
 "skills": "Python, metrology"}
</script></head>
<body><h1>$title</h1><p>$company is hiring in Hamburg. Requirements: Python, metrology.</p></body></html>
PAGE

cd "$place"
code=0
"$alfred" capture posting.html --no-review </dev/null || code=$?
[ "$code" -eq 3 ] || { echo "alfred capture ended with $code instead of 3"; exit 1; }
"$alfred" review --yes </dev/null
"$alfred" job list --json </dev/null >listed.json
for expected in "$title" "$company"; do
  grep -qF "$expected" listed.json || { echo "$expected is not in:"; cat listed.json; exit 1; }
done
"$alfred" new domain garden >/dev/null
[ "$(find garden -type f | wc -l)" -eq 10 ] || { echo "alfred new domain lacks files:"; find garden; exit 1; }

"$alfred" serve --port 0 --no-worker </dev/null 2>served.log &
server=$!
for _ in $(seq 150); do
  if grep -q "^Sign in as " served.log || ! kill -0 "$server" 2>/dev/null; then break; fi
  sleep 0.2
done
"$place/venv/bin/python" - "$(sed -n 's/^Alfred is at //p' served.log)" <<'PYTHON' || { cat served.log; exit 1; }
import re
import sys

import httpx

url = sys.argv[1]
page = httpx.get(url)
files = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
assert page.is_success, page.text
assert any(name.endswith(".js") for name in files), page.text
for name in files:
    assert httpx.get(url + name).is_success, f"{name} is not in the wheel"
PYTHON
echo "The wheel installs, captures and stores: $title at $company. It brings the web client along."
