"""Makes up requests for each address of an API that is no stream, and holds the answers to it.

It runs in an environment of its own (`tests/schemathesis.txt`): URL; what else it needs to know
comes by standard input. The last word that it prints is how many addresses it tried.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

EXAMPLES = 12
"""How many requests are made up for each address."""
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
STREAM = "text/event-stream"
BOUNDED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    verbosity=Verbosity.quiet,
    suppress_health_check=list(HealthCheck),
)


def hold(operation: Any, mode: GenerationMode, url: str, order: dict[str, Any]) -> None:
    """Send made-up requests to one address, such as fit its description or such as do not."""

    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        headers = {"Authorization": order["authorization"]}
        answer = case.call(base_url=url, headers=headers, timeout=60)
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            assert answer.json()["code"] in order["codes"], answer.text

    send()


def main() -> None:
    """Try every address that is no stream."""
    order = json.loads(sys.stdin.read())
    schema = schemathesis.openapi.from_dict(order["document"])
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if STREAM not in json.dumps(operation.definition.raw["responses"].get("200", {})):
            hold(operation, GenerationMode.POSITIVE, sys.argv[1], order)
            with suppress(Unsatisfiable):  # what takes nothing is given nothing wrong
                hold(operation, GenerationMode.NEGATIVE, sys.argv[1], order)
            tried += 1
    print(tried)


if __name__ == "__main__":
    main()
