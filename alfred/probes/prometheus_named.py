"""A probe that asks Prometheus ready-made questions by name: a model need not know PromQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from alfred.errors import ProbeFailed
from alfred.probes.probe import Finding, Window
from alfred.probes.prometheus import PrometheusServer
from alfred.probes.prometheus_query import ask_range
from alfred.probes.said import say_text
from alfred.probes.tool_call import Kind

MAX_SERVICE_CHARS = 100
_STRING = re.compile(r'(=~|!~)?(\s*)"((?:[^"\\]|\\.)*)"')
_PLACEHOLDER = re.compile(r"\$(\w+)")
_OPENS_ELSE = re.compile(r"['#]")
"""What begins a comment or another string, within which double quotes would mean nothing."""
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")


class NamedMetric:
    """`metric`: one of the configured questions over the window, about a service if it asks one."""

    name = "metric"
    kind: Kind = "metrics"
    is_primary = True

    def __init__(self, server: PrometheusServer) -> None:
        settings = server.settings
        for name, query in settings.queries.items():
            check_query(name, query)
        if not settings.queries:
            raise ProbeFailed(
                "probe.settings",
                "No queries are configured for Prometheus, so there is no tool `metric`.",
                hint="Name some under queries, or leave the tool out.",
            )
        self._server = server
        self._about_services = {name for name, query in settings.queries.items() if "$" in query}
        self.timeout_s = server.settings.timeout_s
        self.parameters = self._schema()
        about = " about a service" if self._about_services else ""
        self.description = f"A ready-made measurement over the window{about}, by name."

    def _schema(self) -> Mapping[str, Any]:
        settings = self._server.settings
        properties: dict[str, Any] = {"name": {"type": "string", "enum": list(settings.queries)}}
        required = ["name"]
        if self._about_services:
            text = {"type": "string", "minLength": 1, "maxLength": MAX_SERVICE_CHARS}
            known = {"type": "string", "enum": list(settings.services)}
            properties["service"] = known if settings.services else text
            if len(self._about_services) == len(settings.queries):
                required.append("service")
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        name, service = str(arguments["name"]), str(arguments.get("service", ""))
        if name in self._about_services and not service:
            raise ProbeFailed(
                "probe.query", f"The question {name} needs a service.", hint="Give one in service."
            )
        query = fill(self._server.settings.queries[name], service)
        about = f" of {say_text(service, MAX_SERVICE_CHARS)}" if service else ""
        return await ask_range(self._server, query, window, what=f"{name}{about}", title=name)

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        await self._server.aclose()


def check_query(name: str, query: str) -> None:
    """Refuse a question whose placeholder could become part of the query itself.

    Errors: `probe.settings` for a placeholder outside double quotes or an unknown one.
    """
    unknown = [word for word in _PLACEHOLDER.findall(query) if word != "service"]
    if unknown:
        raise ProbeFailed(
            "probe.settings",
            f"queries.{name} has ${unknown[0]}; the only placeholder is $service.",
            hint="Write the value itself, or $service.",
        )
    rest = _STRING.sub("", query)
    is_asked = "$service" in query
    if "$service" in rest or "`" in query or (is_asked and _OPENS_ELSE.search(rest)):
        raise ProbeFailed(
            "probe.settings",
            f"queries.{name} has $service outside double quotes, or beside a comment or a string"
            " in other quotes.",
            hint='Write it as a label\'s value: {service="$service"}.',
        )


def fill(query: str, service: str) -> str:
    """Put a service into a question: as a label's value, or literally into a regular expression."""

    def filled(match: re.Match[str]) -> str:
        operator, space, text = match.group(1) or "", match.group(2), match.group(3)
        literal = _SPECIAL.sub(r"\\\g<0>", service) if operator else service
        escaped = literal.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{operator}{space}"{text.replace("$service", escaped)}"'

    return _STRING.sub(filled, query)
