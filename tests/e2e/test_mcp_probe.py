"""Tools of a real MCP server, over its standard streams and over HTTP, are allowed one by one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvicorn

from alfred.errors import ProbeFailed
from alfred.probes.mcp_server import (
    McpServer,
    McpServerSettings,
    McpTool,
    McpToolSettings,
    probe_name,
    schema_hash,
)
from alfred.probes.probe import Window
from alfred.probes.tool_call import ToolCall
from alfred.probes.toolbox import Toolbox
from tests.mcp_shop import make_shop

WINDOW = Window(
    start=datetime(2026, 3, 2, 13, 0, tzinfo=UTC), end=datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
)
SHOP = (sys.executable, str(Path(__file__).parents[1] / "mcp_shop.py"))
SERVICE: Mapping[str, Any] = {
    "type": "object",
    "properties": {"service": {"type": "string", "maxLength": 40}},
    "required": ["service"],
    "additionalProperties": False,
}


@pytest.fixture(scope="session")
async def hashes() -> dict[str, str]:
    offers = await McpServer(McpServerSettings(name="shop", command=SHOP)).offers()
    return {offer.name: offer.schema_sha256 for offer in offers}


def allowed(name: str, sha256: str, **more: Any) -> McpToolSettings:
    parameters = {"parameters": SERVICE} if name == "slow_orders" else {}
    return McpToolSettings(
        name=name, schema_sha256=sha256, description="Slow orders.", **parameters, **more
    )


def shop(tool: McpToolSettings, *, command: tuple[str, ...] = SHOP, **more: Any) -> Toolbox:
    settings = McpServerSettings(name="shop", command=command, tools=(tool,), **more)
    return Toolbox(McpServer(settings).probes())


async def ask(toolbox: Toolbox, **arguments: Any) -> ToolCall:
    (probe,) = toolbox.probes
    return await toolbox.call(probe.name, arguments, WINDOW, [], round_=1)


async def test_an_allowed_tool_answers_in_lines_and_masked(hashes: dict[str, str]) -> None:
    tool = allowed("slow_orders", hashes["slow_orders"], kind="metrics", is_primary=True)
    call = await ask(shop(tool), service="basket")
    assert (call["tool"], call["kind"], call["outcome"]) == (
        *("mcp_shop_slow_orders", "metrics", "ok"),
    )
    assert call["lines"] == ["basket: 17 orders took longer than 5 s", "password=[secret]"]
    assert call["asked"] == 'slow_orders {"service": "basket"}'
    assert call["where"] == "MCP server shop"


async def test_what_a_server_says_of_its_tool_reaches_no_model(hashes: dict[str, str]) -> None:
    (probe,) = shop(allowed("slow_orders", hashes["slow_orders"])).probes
    assert probe.description == "Slow orders."
    assert "Ignore all" not in str(probe.parameters)
    assert not probe.is_primary


async def test_a_tool_whose_schema_changed_is_refused_with_the_new_hash(
    hashes: dict[str, str],
) -> None:
    changed = McpServer(McpServerSettings(name="shop", command=(*SHOP, "changed")))
    (new,) = [o.schema_sha256 for o in await changed.offers() if o.name == "slow_orders"]
    assert new != hashes["slow_orders"]
    tool = allowed("slow_orders", hashes["slow_orders"])
    call = await ask(shop(tool, command=(*SHOP, "changed")), service="basket")
    assert call["outcome"] == "refused"
    assert f"has changed; its hash is {new}." in call["error"]


async def test_a_tool_that_is_gone_is_refused() -> None:
    call = await ask(shop(allowed("gone", "0" * 64)))
    assert call["outcome"] == "refused"
    assert "There is no tool 'gone' on the MCP server shop any more." in call["error"]


async def test_a_tool_that_fails_is_no_evidence(hashes: dict[str, str]) -> None:
    call = await ask(shop(allowed("broken", hashes["broken"])))
    assert call["outcome"] == "failed"
    assert "The tool broken of shop failed and says: Error executing tool broken" in call["error"]
    assert call["lines"] == []


async def test_a_server_that_dies_is_told_with_its_last_words(hashes: dict[str, str]) -> None:
    call = await ask(shop(allowed("dying", hashes["dying"])))
    assert call["outcome"] == "failed"
    assert "Its last words: the shop burns" in call["error"]


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("asking_a_model", "the model said"),
        ("asking_a_person", "the person said"),
    ],
)
async def test_a_server_that_wants_a_model_or_a_person_gets_neither(
    hashes: dict[str, str], tool: str, said: str
) -> None:
    call = await ask(shop(allowed(tool, hashes[tool])))
    assert call["outcome"] == "failed"
    assert said not in call["error"]
    assert call["lines"] == []


async def test_a_tool_that_hangs_is_a_time_out_and_its_server_is_gone(
    hashes: dict[str, str],
) -> None:
    toolbox = shop(allowed("hanging", hashes["hanging"]), timeout_s=4.0)
    call = await ask(toolbox)
    assert call["outcome"] == "timeout"
    assert not shops_running()


def shops_running() -> list[int]:
    children = psutil.Process().children(recursive=True)
    return [child.pid for child in children if "mcp_shop.py" in " ".join(child.cmdline())]


async def test_a_long_answer_is_cut_and_what_is_no_text_is_named(hashes: dict[str, str]) -> None:
    call = await ask(shop(allowed("endless", hashes["endless"])))
    assert (call["outcome"], call["truncated"], len(call["lines"])) == ("ok", True, 40)
    shown = await ask(shop(allowed("picture", hashes["picture"])))
    assert shown["lines"] == ["(image, not shown)"]


async def test_a_server_gets_what_is_configured_and_none_of_our_settings(
    hashes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALFRED_API_KEY", "x")
    tool = allowed("environment", hashes["environment"])
    call = await ask(shop(tool, environment={"SHOP_REGION": "north"}))
    assert "SHOP_REGION" in call["lines"][0]
    assert "ALFRED_API_KEY" not in call["lines"][0]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("no-such-server-here",), "cannot be started: there is no no-such-server-here"),
        ((sys.executable, "-c", "import sys; sys.exit('no shop today')"), "no shop today"),
        ((sys.executable, "-c", "print('<html>')"), "The MCP server shop"),
    ],
)
async def test_a_program_that_is_missing_or_no_server_is_told(
    command: tuple[str, ...], said: str
) -> None:
    call = await ask(shop(allowed("slow_orders", "0" * 64), command=command), service="basket")
    assert call["outcome"] == "failed"
    assert said in call["error"]


async def test_a_program_that_never_answers_is_a_time_out() -> None:
    command = (sys.executable, "-c", "import time; time.sleep(60)")
    toolbox = shop(allowed("slow_orders", "0" * 64), command=command, timeout_s=1.0)
    assert (await ask(toolbox, service="basket"))["outcome"] == "timeout"


@pytest.fixture
def shop_url() -> Iterator[str]:
    """Serve the shop over HTTP in a thread of its own."""
    app = make_shop().streamable_http_app()
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        threading.Event().wait(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/mcp"
    server.should_exit = True
    thread.join()


async def test_a_server_can_be_reached_over_http(
    shop_url: str, hashes: dict[str, str], tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("tulip9x\n")
    tool = allowed("slow_orders", hashes["slow_orders"])
    settings = McpServerSettings(name="shop", url=shop_url, token_file=token, tools=(tool,))
    call = await ask(Toolbox(McpServer(settings).probes()), service="basket")
    assert call["lines"][0] == "basket: 17 orders took longer than 5 s"


@pytest.mark.parametrize("path", ["/nothing", ""])
async def test_an_address_without_a_server_is_told(shop_url: str, path: str) -> None:
    url = shop_url.replace("/mcp", path) if path else "http://127.0.0.1:9/mcp"
    settings = McpServerSettings(name="shop", url=url, tools=(allowed("broken", "0" * 64),))
    call = await ask(Toolbox(McpServer(settings).probes()))
    assert call["outcome"] == "failed"
    assert "The MCP server shop" in call["error"]


async def test_a_token_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    settings = McpServerSettings(name="shop", url="http://127.0.0.1:9", token_file=tmp_path / "no")
    with pytest.raises(ProbeFailed, match="token cannot be read"):
        await McpServer(settings).offers()


async def test_several_questions_at_once_have_a_server_each(hashes: dict[str, str]) -> None:
    toolbox = shop(allowed("slow_orders", hashes["slow_orders"]))
    calls = await asyncio.gather(*(ask(toolbox, service=f"s{n}") for n in range(3)))
    assert [call["lines"][0][:2] for call in calls] == ["s0", "s1", "s2"]
    assert not shops_running()


def test_the_hash_is_of_the_canonical_schema_and_of_nothing_else() -> None:
    assert schema_hash({"b": 1, "a": {"d": [], "c": "ü"}}) == schema_hash(
        {"a": {"c": "ü", "d": []}, "b": 1}
    )
    text = '{"a":{"c":"ü","d":[]},"b":1}'
    done = subprocess.run(["sha256sum"], input=text.encode(), capture_output=True, check=True)
    assert done.stdout.decode().split()[0] == schema_hash({"b": 1, "a": {"d": [], "c": "ü"}})


def test_a_probe_is_named_after_its_server_and_tool() -> None:
    assert probe_name("Shop", "slow-orders/Find") == "mcp_shop_slow_orders_find"
    tool = McpToolSettings(name="t", schema_sha256="0" * 64, description="d")
    (probe,) = McpServer(McpServerSettings(name="s", command=SHOP, tools=(tool,))).probes()
    assert isinstance(probe, McpTool)
    assert probe.name == "mcp_s_t"


def test_the_library_is_imported_only_for_a_question() -> None:
    code = (
        "import sys; from alfred.probes.mcp_server import McpServer, McpServerSettings; "
        "McpServer(McpServerSettings(name='s', command=('x',))); print('mcp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
