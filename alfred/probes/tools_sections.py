"""The sections of the tools file: what may stand in it, and which probes each makes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator, model_validator

from alfred.errors import ProbeFailed
from alfred.probes.alerts_firing import FiringAlerts
from alfred.probes.arguments import check_schema
from alfred.probes.changes import Changes, ChangeSettings
from alfred.probes.closed_fields import Closed
from alfred.probes.http_health import HealthSettings, HealthTarget, HttpHealth
from alfred.probes.journal import JournalSearch, JournalSettings
from alfred.probes.kubernetes import Kubernetes, KubernetesSettings
from alfred.probes.log_files import LogFiles, LogSearch, LogSettings
from alfred.probes.log_patterns import LogPatterns
from alfred.probes.mcp_server import NO_ARGUMENTS, McpServer, McpServerSettings, McpToolSettings
from alfred.probes.probe import Probe
from alfred.probes.prometheus import PrometheusServer, PrometheusSettings
from alfred.probes.prometheus_named import NamedMetric
from alfred.probes.prometheus_query import MetricInstant, MetricNames, MetricRange
from alfred.probes.regular_file import read_secret
from alfred.probes.replay import read_recording
from alfred.probes.runbooks import Runbooks, RunbookSettings
from alfred.probes.tool_call import Kind


def _plain(text: str) -> str:
    if any(char < " " and char not in "\t\n" for char in text):
        raise ValueError("holds a control character; take it out.")
    return text


Text = Annotated[str, Field(min_length=1), AfterValidator(_plain)]
Seconds = Annotated[float, Field(ge=0.5, le=120)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$")]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class PrometheusSection(Closed):
    """`promql` lets a model write queries of its own; so it does where none are ready-made."""

    url: Text
    token_file: Text | None = None
    queries: dict[Word, Text] = Field(default_factory=dict)
    services: tuple[Text, ...] = ()
    promql: bool | None = None
    timeout_s: Seconds = 10.0

    def probes(self, folder: Path) -> list[Probe]:
        server = PrometheusServer(
            PrometheusSettings(
                url=self.url,
                token_file=_path(self.token_file, folder),
                queries=self.queries,
                services=self.services,
                timeout_s=self.timeout_s,
            )
        )
        made: list[Probe] = [FiringAlerts(server)]
        if self.queries:
            made.append(NamedMetric(server))
        if self.promql or (self.promql is None and not self.queries):
            made += [MetricRange(server), MetricInstant(server), MetricNames(server)]
        return made


class LogsSection(Closed):
    """`sources` maps a name to a path or a glob; `zone` is that of times that have none."""

    sources: dict[Word, Text]
    zone: Text = "UTC"
    timeout_s: Seconds = 10.0

    def probes(self, folder: Path) -> list[Probe]:
        sources = {name: str(place(path, folder)) for name, path in self.sources.items()}
        files = LogFiles(LogSettings(sources=sources, zone=self.zone, timeout_s=self.timeout_s))
        return [LogPatterns(files), LogSearch(files)]


class JournaldSection(Closed):
    """The journal of this machine, or one in a `directory` or `file`."""

    units: tuple[Text, ...]
    directory: Text | None = None
    file: Text | None = None
    timeout_s: Seconds = 10.0

    def probes(self, folder: Path) -> list[Probe]:
        settings = JournalSettings(
            units=self.units,
            directory=_path(self.directory, folder),
            file=_path(self.file, folder),
            timeout_s=self.timeout_s,
        )
        return [JournalSearch(settings)]


class HttpSection(Closed):
    """`targets` maps a name to an address; of those in `head_only` no body is asked for."""

    targets: dict[Word, Text]
    head_only: tuple[Word, ...] = ()
    timeout_s: Seconds = 10.0

    @model_validator(mode="after")
    def _knows_its_names(self) -> HttpSection:
        if unknown := sorted(set(self.head_only) - set(self.targets)):
            raise ValueError(f"head_only names {unknown[0]!r}, which is none of the targets.")
        return self

    def probes(self, folder: Path) -> list[Probe]:
        del folder
        targets = {
            name: HealthTarget(url=url, method="HEAD" if name in self.head_only else "GET")
            for name, url in self.targets.items()
        }
        return [HttpHealth(HealthSettings(targets=targets, timeout_s=self.timeout_s))]


class PostgresqlSection(Closed):
    """A connection string, here or alone in a file."""

    dsn: Text | None = None
    dsn_file: Text | None = None
    timeout_s: Seconds = 10.0

    @model_validator(mode="after")
    def _has_one(self) -> PostgresqlSection:
        if (self.dsn is None) == (self.dsn_file is None):
            raise ValueError("give either dsn or dsn_file.")
        return self

    def probes(self, folder: Path) -> list[Probe]:
        dsn = self.dsn or ""
        if self.dsn_file:
            dsn = _read_secret(place(self.dsn_file, folder))
        # The driver takes as long to import as all other sources, and the first look waits for it.
        from alfred.probes.database_statistics import (  # noqa: PLC0415
            DatabaseSettings,
            DatabaseStatistics,
        )

        return [DatabaseStatistics(DatabaseSettings(dsn=dsn, timeout_s=self.timeout_s))]


class KubernetesSection(Closed):
    """The cluster that `kubectl` uses by itself, or that of a `context` or `kubeconfig`."""

    namespaces: tuple[Text, ...]
    context: str = ""
    kubeconfig: Text | None = None
    timeout_s: Seconds = 10.0

    def probes(self, folder: Path) -> list[Probe]:
        settings = KubernetesSettings(
            namespaces=self.namespaces,
            context=self.context,
            kubeconfig=_path(self.kubeconfig, folder),
            timeout_s=self.timeout_s,
        )
        return [Kubernetes(settings)]


class ChangesSection(Closed):
    """Git repositories by name, and a file of deployments."""

    repositories: dict[Word, Text] = Field(default_factory=dict)
    markers: Text | None = None
    timeout_s: Seconds = 10.0

    def probes(self, folder: Path) -> list[Probe]:
        settings = ChangeSettings(
            repositories={name: place(path, folder) for name, path in self.repositories.items()},
            markers=_path(self.markers, folder),
            timeout_s=self.timeout_s,
        )
        return [Changes(settings)]


class RunbooksSection(Closed):
    """A folder of Markdown."""

    folder: Text
    timeout_s: Seconds = 5.0

    def probes(self, folder: Path) -> list[Probe]:
        where = place(self.folder, folder)
        return [Runbooks(RunbookSettings(folder=where, timeout_s=self.timeout_s))]


class McpToolFields(Closed):
    """An allowed tool; `alfred tools` prints the fields ready to be pasted."""

    name: Text
    schema_sha256: Hash
    description: Annotated[str, Field(min_length=1, max_length=200)]
    parameters: dict[str, Any] = Field(default_factory=lambda: dict(NO_ARGUMENTS))
    kind: Kind = "other"
    is_primary: bool = False

    @field_validator("parameters")
    @classmethod
    def _is_schema_of_an_object(cls, schema: dict[str, Any]) -> dict[str, Any]:
        return check_schema(schema)


class McpSection(Closed):
    """A server that a `command` starts or that a `url` reaches."""

    command: tuple[Text, ...] = ()
    environment: dict[Word, str] = Field(default_factory=dict)
    url: str = ""
    token_file: Text | None = None
    tools: tuple[McpToolFields, ...] = ()
    timeout_s: Seconds = 20.0

    @model_validator(mode="after")
    def _has_one(self) -> McpSection:
        if bool(self.command) == bool(self.url):
            raise ValueError("give either command or url.")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError("url begins with neither http:// nor https://.")
        return self

    def server(self, name: str, folder: Path) -> McpServer:
        return McpServer(
            McpServerSettings(
                name=name,
                command=self.command,
                environment=self.environment,
                url=self.url,
                token_file=_path(self.token_file, folder),
                tools=tuple(McpToolSettings(**dict(tool)) for tool in self.tools),
                timeout_s=self.timeout_s,
            )
        )


class ToolsFields(Closed):
    """The whole file; every section may be left out."""

    prometheus: PrometheusSection | None = None
    logs: LogsSection | None = None
    journald: JournaldSection | None = None
    http: HttpSection | None = None
    postgresql: PostgresqlSection | None = None
    kubernetes: KubernetesSection | None = None
    changes: ChangesSection | None = None
    runbooks: RunbooksSection | None = None
    mcp: dict[Word, McpSection] = Field(default_factory=dict)
    replay: Text | None = None

    def replayed(self, folder: Path) -> list[Probe]:
        """Return the tools of a recording, if one is named."""
        if self.replay is None:
            return []
        return list(read_recording(place(self.replay, folder)).toolbox().probes)

    def secrets(self) -> Mapping[str, str]:
        """Name the places that hold a secret in the file itself, with the field that avoids it."""
        found: dict[str, str] = {}
        if self.postgresql and self.postgresql.dsn and "pass" in _folded(self.postgresql.dsn):
            found["postgresql.dsn"] = "dsn_file"
        if self.prometheus and "@" in self.prometheus.url:
            found["prometheus.url"] = "token_file"
        for name, url in (self.http.targets if self.http else {}).items():
            if "@" in url:
                found[f"http.targets.{name}"] = ""
        for name, section in self.mcp.items():
            if "@" in section.url:
                found[f"mcp.{name}.url"] = "token_file"
            if section.environment:
                found[f"mcp.{name}.environment"] = ""
        return found


def place(path: str, folder: Path) -> Path:
    """Read a path of the tools file: relative ones begin at the file's own folder."""
    try:
        return folder / Path(path).expanduser()
    except RuntimeError as exc:
        message = f"{path}: there is no such user on this machine."
        raise ProbeFailed("probe.settings", message, hint="Write the whole path.") from exc


def _path(path: str | None, folder: Path) -> Path | None:
    return place(path, folder) if path else None


def _folded(dsn: str) -> str:
    has_password = "://" in dsn and "@" in dsn and ":" in dsn.partition("://")[2].partition("@")[0]
    return "pass" if has_password else dsn.lower()


def _read_secret(path: Path) -> str:
    try:
        return read_secret(path)
    except (OSError, ValueError) as exc:
        message = f"dsn_file: nothing can be read from {path}."
        raise ProbeFailed("probe.settings", message) from exc
