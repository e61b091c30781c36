"""`alfred serve`: the inbox in the browser, the API for programs, and a worker behind them."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from alfred.cli.session import run, say

if TYPE_CHECKING:
    from alfred.app import Ports
    from alfred.server.hall import Hall
    from alfred.server.site import Site

BACKLOG = 256
_ORIGIN = re.compile(r"https://([\w.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?", re.ASCII)
READABLE = click.Path(path_type=Path, exists=True, dir_okay=False)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the options of the command ask for."""

    site: Site
    has_worker: bool
    certificate: Path | None
    key: Path | None


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65_535))
@click.option("--no-worker", is_flag=True, help="Leave the runs to `alfred worker`.")
@click.option("--tls-cert", metavar="FILE", type=READABLE, help="Certificate, as PEM.")
@click.option("--tls-key", metavar="FILE", type=READABLE, help="Its private key, as PEM.")
@click.option(
    "--behind-proxy", metavar="ORIGIN", help="What browsers see, such as https://alfred.example."
)
@click.pass_obj
def command(
    ports: Ports | None,
    host: str,
    port: int,
    *,
    no_worker: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: str | None,
) -> None:
    """Serve the web client, the API under /v1 and a worker, until Ctrl-C or SIGTERM.

    Prints a link by which you sign in once, within a quarter of an hour; `alfred user link` makes
    another. Fetches the embedded model if it is in use and missing. Beyond the loopback address it
    starts only with --tls-cert and --tls-key, or with --behind-proxy, which declares that a proxy
    encrypts.
    """
    from alfred.server.site import make_site

    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together.")
    proxied = None if behind_proxy is None else read_origin(behind_proxy)
    site = make_site(host, port, is_encrypted=tls_cert is not None, proxied=proxied)
    wish = Wish(site=site, has_worker=not no_worker, certificate=tls_cert, key=tls_key)
    run(_serve(ports, wish))


def read_origin(given: str) -> str:
    """Read `https://NAME[:PORT]`; errors: a usage error for anything else."""
    found = _ORIGIN.fullmatch(given.rstrip("/").lower())
    if found is None:
        raise click.UsageError(f"--behind-proxy {given!r} is not of the form https://NAME.")
    return found[0].removesuffix(":443")  # browsers leave the usual port out


async def _serve(ports: Ports | None, wish: Wish) -> None:
    from alfred.server.hall import open_hall
    from alfred.settings import read_settings

    with _listen(wish.site) as listening:
        site = replace(wish.site, port=listening.getsockname()[1])
        async with open_hall(read_settings(), say=say, ports=ports) as hall:
            await _announce(hall, site)
            await _run(hall, listening, replace(wish, site=site))
    say("Stopped.")


def _listen(site: Site) -> socket.socket:
    """Take the port before anything is opened; errors: OSError, which says why it cannot be."""
    family = socket.AF_INET6 if ":" in site.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((site.host, site.port))
    listening.listen(BACKLOG)  # whoever opens the link at once waits for the server to begin
    return listening


async def _announce(hall: Hall, site: Site) -> None:
    """Make the first user known, and print how they sign in."""
    from alfred.cli.user import sign_in_url

    await hall.first.enter()
    link = await sign_in_url(hall.first, site.url)
    say(f"Alfred is at {site.url}")
    say(f"Sign in as {hall.settings.user}, once and within a quarter of an hour: {link}")


async def _fetch_model(hall: Hall) -> None:
    """Begin to fetch the model before the first text needs it; say what keeps texts from it."""
    from alfred.errors import AlfredError
    from alfred.models.arriving import ArrivingModel

    try:
        model = hall.first.model
        if isinstance(model, ArrivingModel) and model.arrival.is_missing:
            say(f"Fetching the model {model.arrival.size}; what needs it waits for it.")
            await model.arrival.wait(lambda _: None)
            say("The model is here.")
    except AlfredError as error:
        say(f"No text can be read yet. {error}")


async def _run(hall: Hall, listening: socket.socket, wish: Wish) -> None:
    """Run server and worker until one of them ends or a signal comes; then end both."""
    from alfred.server.app import make_server
    from alfred.server.service import Encryption, serve
    from alfred.worker.service import run_worker

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    encryption = Encryption(certificate=wish.certificate, key=wish.key)
    server = make_server(hall, site=wish.site)
    is_proxied = wish.site.proxied is not None
    serving = serve(server, listening, stop, encryption=encryption, is_proxied=is_proxied)
    tasks = [asyncio.create_task(serving)]
    if wish.has_worker:
        tasks.append(asyncio.create_task(run_worker(hall, stop)))
    fetching = asyncio.create_task(_fetch_model(hall)) if wish.has_worker else None
    ending = asyncio.create_task(stop.wait())
    await asyncio.wait([*tasks, ending], return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    hall.bell.close()
    await asyncio.wait([*tasks, ending])
    if fetching is not None:
        fetching.cancel()
        await asyncio.gather(fetching, return_exceptions=True)
    for task in tasks:
        task.result()
