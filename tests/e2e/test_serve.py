"""`alfred serve` in a process of its own: what it prints, what it refuses, how it ends."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from alfred.store.address import Address
from tests.conftest import Answer, Asked, LocalServer, Reply
from tests.shell import Shell, completion, posting, url_of

LINE = re.compile(r"Sign in as .*: (https?://\S+)/sign-in#link=(\S+)")


@pytest.fixture
def shell(
    served_database: Address,
    shell_with: Callable[[dict[str, Any] | str], Shell],
    serve: Callable[[Answer], LocalServer],
) -> Shell:
    """A user of the database that belongs to servers, whose model reads every posting the same."""

    def reply(_: Asked) -> Reply:
        return Reply(kind="text/event-stream", body=completion(posting("Served")[1]))

    environment = shell_with({}).environment
    model = f"{serve(reply).url}/v1#scripted"
    url = url_of(served_database)
    return Shell({**environment, "ALFRED_DATABASE_URL": url, "ALFRED_MODEL": model})


@contextmanager
def running(shell: Shell, *options: str) -> Generator[tuple[subprocess.Popen[str], str, str]]:
    """Serve on a free port; give the process, the server's address and the link's secret."""
    process = subprocess.Popen(
        [sys.executable, "-m", "alfred", "serve", "--port", "0", *options],
        env=shell.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    heard: list[str] = []
    try:
        for line in process.stderr:
            heard.append(line)
            if found := LINE.search(line):
                yield process, found[1], found[2]
                break
        else:
            raise AssertionError(f"it printed no link: {''.join(heard)}")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


@contextmanager
def signed_in(url: str, link: str) -> Generator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"Origin": url}, timeout=60) as client:
        answer = client.post("/v1/session", json={"link": link})
        assert answer.status_code == 200, answer.text
        client.headers["X-Alfred-CSRF"] = answer.json()["csrf"]
        yield client


def test_one_command_serves_reads_and_writes_and_ends_when_told(shell: Shell) -> None:
    with running(shell) as (process, url, link), signed_in(url, link) as client:
        me = client.get("/v1/me").json()
        assert (me["user"], me["domains"]) == (shell.user, ["diagnosis", "job"])
        turn = client.post("/v1/messages", json={"text": posting("Served")[0]}).json()["turn"]
        give_up_at = time.monotonic() + 60
        while time.monotonic() < give_up_at:
            found = client.get(f"/v1/turns/{turn}").json()
            if found["state"] != "running":
                break
            time.sleep(0.1)
        assert found["state"] == "waiting", found
        proposal = client.get(f"/v1/proposals/{found['proposal']}").json()
        decided = client.post(
            f"/v1/proposals/{proposal['proposal']}/decide",
            json={"digest": proposal["digest"], "rest": "approve"},
        ).json()
        assert decided["proposal"]["state"] in ("committed", "pending")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    pending = shell.json("pending")
    assert len(pending["proposals"]) == (decided["proposal"]["state"] == "pending")


def test_beyond_the_machine_nothing_is_served_without_encryption(shell: Shell) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        refused = shell.run("serve", "--host", host, "--port", "0", code=1)
        assert "access.exposed" in refused.stderr
        assert "--tls-cert" in refused.stderr
    for origin in ("alfred", "http://alfred.example", "https://me@alfred.example", "https://a/b"):
        assert "form https://" in shell.run("serve", "--behind-proxy", origin, code=2).stderr


def test_a_port_that_is_taken_is_named(
    shell: Shell, serve: Callable[[Answer], LocalServer]
) -> None:
    port = serve(lambda _: Reply()).url.rpartition(":")[2]
    assert "in use" in shell.run("serve", "--port", port, code=1).stderr


def test_with_a_certificate_it_is_served_to_others_and_cookies_are_for_encryption_only(
    shell: Shell, tmp_path: Path
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key, trusted = (tmp_path / name for name in ("cert.pem", "key.pem", "ca.pem"))
    certificate.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(key))
    authority.cert_pem.write_to_path(str(trusted))
    options = ("--host", "0.0.0.0", "--tls-cert", str(certificate), "--tls-key", str(key))
    with running(shell, "--no-worker", *options) as (_, url, link):
        assert url.startswith("https://0.0.0.0:")
        import ssl

        context = ssl.create_default_context(cafile=str(trusted))
        near = url.replace("0.0.0.0", "localhost")
        with httpx.Client(base_url=near, headers={"Origin": near}, verify=context) as client:
            answer = client.post("/v1/session", json={"link": link})
            assert answer.status_code == 200, answer.text
            assert "secure" in answer.headers["set-cookie"].lower()
            assert "strict-transport-security" in answer.headers
    alone = shell.run("serve", "--tls-cert", str(certificate), code=2)
    assert "--tls-key" in alone.stderr


def test_behind_a_proxy_only_its_name_and_its_pages_count(shell: Shell) -> None:
    options = ("--no-worker", "--host", "0.0.0.0", "--behind-proxy", "https://alfred.example")
    environment = shell.environment
    with running(Shell(environment), *options) as (process, url, link):
        assert url == "https://alfred.example"
        port = listening_port(process)
        headers = {"Host": "alfred.example", "Origin": url}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers) as client:
            answer = client.post("/v1/session", json={"link": link})
            assert answer.status_code == 200, answer.text
            assert "secure" in answer.headers["set-cookie"].lower()
            other = client.get("/v1/health", headers={"Host": f"127.0.0.1:{port}"})
            assert other.status_code == 421


def listening_port(process: subprocess.Popen[str]) -> int:
    import psutil

    found = psutil.Process(process.pid).net_connections(kind="inet")
    (port,) = {each.laddr.port for each in found if each.status == psutil.CONN_LISTEN}
    return port


def test_tokens_are_made_listed_and_revoked_at_the_command_line(shell: Shell) -> None:
    made = shell.json("token", "create", "脚本", "--scope", "read", "--scope", "propose")
    assert made["scopes"] == ["propose", "read"]
    assert made["token"].startswith("alfred_")
    text = shell.run("token", "create", "once", "--scope", "admin", "--days", "1").stdout
    assert text.strip().startswith("alfred_")
    listed = shell.json("token", "list")["tokens"]
    assert [each["name"] for each in listed] == ["once", "脚本"]
    assert made["token"] not in shell.run("token", "list").stdout
    shell.run("token", "revoke", "once")
    shell.run("token", "revoke", made["id"][:8])
    assert shell.run("token", "list").stdout.count("revoked on") == 2
    assert "access.token" in shell.run("token", "revoke", "none", code=1).stderr
    assert "SCOPE" in shell.run("token", "create", "x", code=2).stderr.upper()


def test_users_are_added_and_each_has_links_of_their_own(shell: Shell) -> None:
    name = f"{shell.user}-2"
    assert "access.user" in shell.run("user", "link", name, code=1).stderr
    added = shell.json("user", "add", name)
    assert shell.json("user", "add", name) == added
    link = shell.json("user", "link", name, "--url", "https://alfred.example/")["link"]
    assert link.startswith("https://alfred.example/sign-in#link=alfred_")
    assert added["id"].replace("-", "") in link
    assert shell.run("user", "link").stdout.startswith("http://127.0.0.1:8765/sign-in#link=")
    shell.run("user", "add", "a\nb", code=2)
