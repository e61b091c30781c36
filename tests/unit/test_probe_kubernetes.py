"""The cluster's answers, printed by a recorded `kubectl`, and the command lines that ask for them.

The recorded `kubectl` is a program that notes how it was called and prints what a cluster printed.
"""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alfred.errors import ProbeFailed
from alfred.probes.kubernetes import KINDS, VERBS, Kubernetes, KubernetesSettings, command_line
from alfred.probes.probe import Finding, Window
from alfred.probes.toolbox import Toolbox, misfit

WINDOW = Window(
    start=datetime(2026, 3, 2, 13, 0, tzinfo=UTC), end=datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
)
POD = "basket-7d9f8b6c54-x2xq9"
PODS: dict[str, Any] = {
    "kind": "List",
    "items": [
        {
            "kind": "Pod",
            "metadata": {"name": POD},
            "spec": {"nodeName": "node-2", "containers": [{"image": "registry.test/basket:1.4"}]},
            "status": {
                "phase": "Running",
                "conditions": [
                    {"type": "Initialized", "status": "True"},
                    {
                        "type": "Ready",
                        "status": "False",
                        "lastTransitionTime": "2026-03-02T14:01:09Z",
                        "reason": "ContainersNotReady",
                        "message": "containers with unready status: [app]",
                    },
                ],
                "containerStatuses": [
                    {
                        "name": "app",
                        "ready": False,
                        "restartCount": 7,
                        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                        "lastState": {
                            "terminated": {
                                "reason": "OOMKilled",
                                "exitCode": 137,
                                "finishedAt": "2026-03-02T14:01:05Z",
                            }
                        },
                    }
                ],
            },
        },
        {"kind": "Pod", "metadata": {"name": "ledger-0"}, "status": {"phase": "Running"}},
    ],
}
OTHERS: list[tuple[dict[str, Any], str]] = [
    (
        {
            "kind": "Deployment",
            "metadata": {"name": "basket"},
            "spec": {
                "replicas": 3,
                "template": {"spec": {"containers": [{"image": "registry.test/basket:1.4"}]}},
            },
            "status": {
                "readyReplicas": 1,
                "updatedReplicas": 3,
                "conditions": [{"type": "ReplicaFailure", "status": "False"}],
            },
        },
        "deployment basket: 1 of 3 ready; 3 updated; images registry.test/basket:1.4",
    ),
    (
        {"kind": "DaemonSet", "metadata": {"name": "agent"}, "status": {"numberReady": 2}},
        "daemonset agent: 2 of 0 ready",
    ),
    (
        {
            "kind": "Node",
            "metadata": {"name": "node-2"},
            "status": {
                "conditions": [
                    {"type": "MemoryPressure", "status": "True", "reason": "Low"},
                    {"type": "DiskPressure", "status": "False"},
                    {"type": "Ready", "status": "True"},
                ]
            },
        },
        "node node-2: MemoryPressure=True (Low)",
    ),
    (
        {"kind": "Job", "metadata": {"name": "nightly"}, "status": {"failed": 2}},
        "job nightly: 0 succeeded, 2 failed",
    ),
    (
        {
            "kind": "Endpoints",
            "metadata": {"name": "basket"},
            "subsets": [{"notReadyAddresses": [{"ip": "10.0.0.1"}]}],
        },
        "endpoints basket: 0 ready addresses, 1 not ready",
    ),
    (
        {
            "kind": "Service",
            "metadata": {"name": "basket"},
            "spec": {"ports": [{"port": 80}, {"port": 443}]},
        },
        "service basket: ClusterIP, ports 80, 443",
    ),
    (
        {
            "kind": "ResourceQuota",
            "metadata": {"name": "shop"},
            "status": {"hard": {"pods": "10"}, "used": {"pods": "10"}},
        },
        "resourcequota shop: pods 10 of 10",
    ),
    ({"kind": "CronJob"}, "cronjob ?: nothing is known of its state"),
]
EVENTS: dict[str, Any] = {
    "items": [
        {
            "type": "Warning",
            "reason": "BackOff",
            "message": "Back-off restarting failed container",
            "count": 12,
            "firstTimestamp": "2026-03-02T13:40:00Z",
            "lastTimestamp": "2026-03-02T14:01:09Z",
            "involvedObject": {"kind": "Pod", "name": POD},
        },
        {
            "type": "Normal",
            "reason": "Scheduled",
            "message": "assigned to node-2",
            "eventTime": "2026-03-02T13:39:00.123456Z",
            "involvedObject": {"kind": "Pod", "name": POD},
        },
        {"reason": "Old", "lastTimestamp": "2026-03-01T09:00:00Z"},
        {"reason": "Later", "lastTimestamp": "2026-03-02T16:00:00Z"},
        {"reason": "Timeless"},
    ]
}
LOG = """\
2026-03-02T12:59:59.999Z before
2026-03-02T14:00:00.5Z ERROR out of memory password=tulip9x
	at basket.Cart.fill
2026-03-02T15:30:00+01:00 INFO again
2026-03-02T15:00:01Z after
	at later.Thing
"""

Recorded = Callable[..., tuple[Kubernetes, Path]]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Make a `kubectl` that prints what a cluster printed."""

    def make(text: str = "", error: str = "", code: int = 0, then: str = "") -> Any:
        notes, program = tmp_path / "called.jsonl", tmp_path / "kubectl"
        program.write_text(
            f"#!{sys.executable}\nimport json, sys, time\n"
            f"open({str(notes)!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n"
            f"sys.stdout.write({text!r}); sys.stdout.flush()\nsys.stderr.write({error!r})\n{then}\n"
            f"sys.exit({code})\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        settings = KubernetesSettings(
            namespaces=("shop", "shop-batch"), command=str(program), timeout_s=2.0
        )
        return Kubernetes(settings), notes

    return make


async def look(probe: Kubernetes, **arguments: Any) -> Finding:
    assert not misfit(probe, arguments)
    return await probe.look(arguments, WINDOW)


async def test_pods_are_told_with_their_restarts_and_how_they_ended(recorded: Recorded) -> None:
    probe, notes = recorded(json.dumps(PODS))
    found = await look(probe, verb="get", kind="pods")
    assert found.lines == (
        f"pod {POD}: Running; on node-2; container app not ready, 7 restarts, "
        "waiting: CrashLoopBackOff (back-off), last ended: OOMKilled, exit code 137 at 14:01:05Z; "
        "Ready=False since 14:01:09Z (ContainersNotReady: containers with unready status: [app]); "
        "images registry.test/basket:1.4",
        "pod ledger-0: Running",
    )
    assert (found.asked, found.where) == ("get pods", "kubernetes namespace shop")
    assert json.loads(notes.read_text()) == [
        *("--request-timeout=1s", "--namespace=shop", "get", "pods", "--output=json"),
    ]


@pytest.mark.parametrize(("item", "said"), OTHERS)
async def test_other_kinds_are_told_in_a_line(
    recorded: Recorded, item: dict[str, Any], said: str
) -> None:
    probe, _ = recorded(json.dumps({"items": [item]}))
    assert (await look(probe, verb="get", kind="deployments")).lines == (said,)


async def test_one_object_is_told_with_the_conditions_that_are_well(recorded: Recorded) -> None:
    probe, _ = recorded(json.dumps(PODS["items"][0]))
    (line,) = (await look(probe, verb="get", name=POD)).lines
    assert "Initialized=True" in line


async def test_events_of_the_window_are_told_the_newest_last(recorded: Recorded) -> None:
    probe, _ = recorded(json.dumps(EVENTS))
    found = await look(probe, verb="events")
    assert found.lines == (
        f"13:39:00Z Normal Scheduled pod/{POD}: assigned to node-2",
        f"14:01:09Z Warning BackOff pod/{POD}: Back-off restarting failed container "
        "(12 times since 13:40:00Z)",
    )
    assert found.start == WINDOW.start
    assert found.asked == "events from 2026-03-02T13:00:00Z to 15:00:00Z"


async def test_a_log_is_told_within_the_window_and_masked(recorded: Recorded) -> None:
    probe, _ = recorded(LOG)
    found = await look(probe, verb="logs", name=POD, namespace="shop-batch", previous=True)
    assert found.lines == (
        "14:00:00Z ERROR out of memory password=[secret]",
        "at basket.Cart.fill",
        "14:30:00Z INFO again",
    )
    assert found.asked.startswith(f"log of pod {POD} before its restart from")
    assert found.where == "kubernetes namespace shop-batch"


async def test_a_long_log_keeps_its_newest_lines(recorded: Recorded) -> None:
    probe, _ = recorded("".join(f"2026-03-02T14:00:00Z line {n}\n" for n in range(400)))
    found = await look(probe, verb="logs", name=POD)
    assert found.lines[-1] == "14:00:00Z line 399"
    assert len(found.lines) == 30
    assert found.truncated


async def test_a_description_is_told_without_its_empty_lines(recorded: Recorded) -> None:
    text = "Name:   basket\n\nContainers:\n  app:\n    DB_PASSWORD:  tulip9x\n    Limits:\n"
    probe, _ = recorded(text)
    found = await look(probe, verb="describe", kind="pods", name=POD)
    assert found.lines == (
        *("Name: basket", "Containers:", "· app:", "· · DB_PASSWORD: [secret]", "· · Limits:"),
    )


@pytest.mark.parametrize(
    ("arguments", "tail"),
    [
        ({"verb": "get"}, ["get", "pods", "--output=json"]),
        (
            {"verb": "get", "kind": "nodes", "name": "node-2"},
            ["get", "nodes", "node-2", "--output=json"],
        ),
        (
            {"verb": "describe", "kind": "deployments", "name": "basket"},
            ["describe", "deployments", "basket"],
        ),
        (
            {"verb": "logs", "name": "basket-1", "kind": "nodes"},
            [
                *("logs", "pod/basket-1", "--all-containers", "--timestamps", "--tail=400"),
                "--since-time=2026-03-02T13:00:00Z",
            ],
        ),
        (
            {"verb": "events", "name": "basket-1", "previous": True},
            ["get", "events", "--output=json", "--field-selector=involvedObject.name=basket-1"],
        ),
    ],
)
def test_the_command_line_is_fixed_but_for_what_the_schema_allows(
    arguments: dict[str, Any], tail: list[str]
) -> None:
    settings = KubernetesSettings(
        namespaces=("shop",), context="prod", kubeconfig=Path("config"), timeout_s=10
    )
    assert not misfit(Kubernetes(settings), arguments)
    assert command_line(settings, arguments, WINDOW) == [
        *("kubectl", "--request-timeout=8s", "--kubeconfig=config", "--context=prod"),
        *("--namespace=shop", *tail),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"verb": "delete"},
        {"verb": "exec", "name": "basket-1"},
        {"verb": "get", "kind": "secrets"},
        {"verb": "get", "kind": "configmaps"},
        {"verb": "get", "kind": "pods,secrets"},
        {"verb": "get", "name": "--raw=/api/v1/secrets"},
        {"verb": "get", "name": "-f"},
        {"verb": "get", "name": "a b"},
        {"verb": "get", "name": "secrets/x"},
        {"verb": "get", "name": "basket\n"},
        {"verb": "get", "name": "x" * 254},
        {"verb": "get", "namespace": "kube-system"},
        {"verb": "logs", "name": "basket-1", "output": "yaml"},
        {"verb": "logs", "name": "basket-1", "previous": "--all"},
    ],
)
async def test_what_is_not_on_the_list_is_never_run(
    recorded: Recorded, arguments: dict[str, Any]
) -> None:
    probe, notes = recorded()
    call = await Toolbox([probe]).call("kubernetes", arguments, WINDOW, [], round_=1)
    assert call["outcome"] == "refused"
    assert not notes.exists()


def test_no_verb_writes_and_no_kind_holds_secrets() -> None:
    assert set(VERBS) == {"get", "describe", "logs", "events"}
    assert not {"secrets", "configmaps", "serviceaccounts"} & set(KINDS)


@pytest.mark.parametrize("verb", ["describe", "logs"])
async def test_a_verb_that_needs_a_name_is_refused_without(recorded: Recorded, verb: str) -> None:
    probe, notes = recorded()
    with pytest.raises(ProbeFailed, match=f"{verb} needs the name") as caught:
        await look(probe, verb=verb)
    assert caught.value.code == "probe.refused"
    assert not notes.exists()


async def test_an_object_that_does_not_exist_is_an_empty_answer(recorded: Recorded) -> None:
    error = 'Error from server (NotFound): pods "basket-9" not found\n'
    probe, _ = recorded(error=error, code=1)
    found = await look(probe, verb="get", name="basket-9")
    assert (found.lines, found.asked) == ((), "get pods basket-9")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("The connection to the server 10.0.0.1:6443 was refused\n", "was refused"),
        ("error: exec: executable cloud-login not found\n", "cloud-login not found"),
        ('Error from server (Forbidden): pods is forbidden: User "a"\n', "needs the role view"),
        ('error: context "prod" does not exist\n', "context of the tools file"),
    ],
)
async def test_a_cluster_that_does_not_answer_is_told(
    recorded: Recorded, error: str, said: str
) -> None:
    probe, _ = recorded(error=error, code=1)
    with pytest.raises(ProbeFailed) as caught:
        await look(probe, verb="get")
    assert caught.value.code == "probe.unreachable"
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["<html>", "[]", '"pods"', "{", '{"items": 1}', '{"items": ["pod"]}', '{"items": null}'],
)
async def test_what_is_no_list_of_objects_is_told(recorded: Recorded, text: str) -> None:
    probe, _ = recorded(text)
    with pytest.raises(ProbeFailed, match="not the JSON of objects") as caught:
        await look(probe, verb="get")
    assert caught.value.code == "probe.answer"


async def test_a_cluster_that_prints_without_end_is_cut_off(recorded: Recorded) -> None:
    probe, _ = recorded(then="while True: sys.stdout.write('{' * 65536)")
    with pytest.raises(ProbeFailed) as caught:
        await look(probe, verb="get")
    assert caught.value.code == "probe.too_much"
    assert (await look(probe, verb="describe", name=POD)).truncated


async def test_a_cluster_that_hangs_is_a_time_out(recorded: Recorded) -> None:
    probe, notes = recorded(then="time.sleep(60)")
    call = await Toolbox([probe]).call("kubernetes", {"verb": "get"}, WINDOW, [], round_=1)
    assert call["outcome"] == "timeout"
    assert notes.exists()


async def test_a_missing_kubectl_is_told() -> None:
    probe = Kubernetes(KubernetesSettings(namespaces=("shop",), command="kubectl-that-is-not"))
    with pytest.raises(ProbeFailed, match="kubectl-that-is-not is not installed"):
        await look(probe, verb="get")


@pytest.mark.parametrize("namespaces", [(), ("Shop",), ("--all-namespaces",), ("",)])
def test_namespaces_have_to_be_named(namespaces: tuple[str, ...]) -> None:
    with pytest.raises(ProbeFailed, match="namespace") as caught:
        Kubernetes(KubernetesSettings(namespaces=namespaces))
    assert caught.value.code == "probe.settings"


async def test_only_the_end_of_a_line_begins_another_in_a_log(recorded: Recorded) -> None:
    text = (
        "2026-03-02T14:00:00Z one\r2026-03-02T14:00:01Z forged\x0c2026-99-99T99:99:99Z\n"
        "2026-99-99T99:99:99Z two\n"
    )
    probe, _ = recorded(text)
    lines = (await look(probe, verb="logs", name=POD)).lines
    assert len(lines) == 2
    assert lines[0].startswith("14:00:00Z one 2026-03-02T14:00:01Z forged")


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"items": [{"kind": "Pod", "metadata": 3, "status": {"conditions": 3}}]}'],
)
async def test_what_is_no_object_breaks_nothing(recorded: Recorded, text: str) -> None:
    probe, _ = recorded(text)
    call = await Toolbox([probe]).call("kubernetes", {"verb": "get"}, WINDOW, [], round_=1)
    assert call["outcome"] in ("ok", "failed")


async def test_a_moment_that_leads_out_of_the_calendar_is_told(recorded: Recorded) -> None:
    condition = {
        "type": "Ready",
        "status": "False",
        "lastTransitionTime": "0001-01-01T00:00:00+05:00",
    }
    pod = {"kind": "Pod", "metadata": {"name": "a"}, "status": {"conditions": [condition]}}
    probe, _ = recorded(json.dumps({"items": [pod]}))
    found = await look(probe, verb="get")
    assert "since 0001-01-01T00:00:00+05:00" in found.lines[0]


@pytest.mark.parametrize("name", ["--output=x", "-o", "a b", "a;b", "a/../b", "a\nb", "a\x00"])
def test_a_name_that_is_an_option_or_a_path_is_refused(recorded: Recorded, name: str) -> None:
    probe, _ = recorded("")
    assert misfit(probe, {"verb": "get", "kind": "pods", "name": name})
