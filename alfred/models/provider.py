"""From ALFRED_MODEL to a model: which provider, at which address, with which key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit, urlunsplit

from alfred.engine.language_model import LanguageModel
from alfred.errors import ModelFailed
from alfred.models.arriving import Arrival, ArrivingModel, Tell
from alfred.models.catalog import DEFAULT_MODEL, catalog_model
from alfred.models.embedded import EmbeddedModel
from alfred.models.llama_engine import EngineOptions, require_package
from alfred.models.model_file import require_verified
from alfred.models.openai_compatible import Endpoint, OpenAICompatible
from alfred.models.wire_schema import Dialect
from alfred.settings import Settings

CHOICE_FILE = "model.json"
EMBEDDED = "embedded"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A hosted or local service with a fixed address; `key_variable` None means it needs no key."""

    base_url: str
    key_variable: str | None
    dialect: Dialect = Dialect.PLAIN
    context_tokens: int = 100_000


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        dialect=Dialect.STRICT,
    ),
    "anthropic": Provider(
        base_url="https://api.anthropic.com/v1", key_variable="ANTHROPIC_API_KEY"
    ),
    "google": Provider(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variable="GEMINI_API_KEY",
    ),
    "deepseek": Provider(
        base_url="https://api.deepseek.com/v1",
        key_variable="DEEPSEEK_API_KEY",
        context_tokens=60_000,
    ),
    "qwen": Provider(
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_variable="DASHSCOPE_API_KEY",
        context_tokens=30_000,
    ),
    # Ollama cuts longer prompts without a word unless its server is configured otherwise.
    "ollama": Provider(
        base_url="http://127.0.0.1:11434/v1", key_variable=None, context_tokens=4096
    ),
}
URL_CONTEXT_TOKENS = 8192
"""What any server can be expected to take, as it cannot be asked."""
FORMS = "embedded:NAME, " + ", ".join(f"{name}:NAME" for name in PROVIDERS) + ", URL#NAME"


def open_model(settings: Settings, *, tell: Tell | None = None) -> LanguageModel:
    """Open the model that the settings name; nothing is loaded or connected to yet.

    `ALFRED_MODEL` comes first, then the choice of `alfred model use`, then the embedded default.
    With `tell`, an embedded model that is not here is fetched by the call that first needs it, and
    `tell` hears how far it is; without, it is refused.
    Errors: `model.unknown` with the nearest known name; `model.no_key`; for an embedded model
    `model.missing` and `model.corrupt`, or with `tell` `model.not_installed`.
    """
    chosen = settings.model or chosen_model(settings.home)
    if chosen.startswith(("http://", "https://")):
        return OpenAICompatible(_url_endpoint(chosen, settings))
    kind, colon, name = chosen.partition(":")
    if not colon or not name or (kind != EMBEDDED and kind not in PROVIDERS):
        raise _unknown(chosen, kind)
    if kind == EMBEDDED:
        return _embedded(name, settings, tell)
    provider = PROVIDERS[kind]
    endpoint = Endpoint(
        name=chosen,
        base_url=provider.base_url,
        model=name,
        dialect=provider.dialect,
        context_tokens=provider.context_tokens,
        key=_key(kind, provider, settings),
    )
    return OpenAICompatible(endpoint)


def models_folder(home: Path) -> Path:
    """Say where embedded models are kept."""
    return home / "models"


def chosen_model(home: Path) -> str:
    """Read the choice of `alfred model use`; the default if there is none or it is unreadable."""
    try:
        stored = json.loads((home / CHOICE_FILE).read_text(encoding="utf-8"))
        return str(stored["model"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"{EMBEDDED}:{DEFAULT_MODEL.name}"


def choose_model(settings: Settings, model: str) -> None:
    """Store which model is used when ALFRED_MODEL is not set.

    Errors: `model.unknown` for a name that could never be opened; it is not stored.
    """
    check_model_name(model)
    settings.home.mkdir(parents=True, exist_ok=True)
    draft = settings.home / f"{CHOICE_FILE}.draft"
    draft.write_text(json.dumps({"model": model}), encoding="utf-8")
    draft.replace(settings.home / CHOICE_FILE)


def check_model_name(model: str) -> None:
    """Refuse what names no model, without looking for files, keys or servers.

    Errors: `model.unknown`.
    """
    if model.startswith(("http://", "https://")):
        _split(model)
        return
    kind, _, name = model.partition(":")
    if not name or (kind != EMBEDDED and kind not in PROVIDERS):
        raise _unknown(model, kind)
    if kind == EMBEDDED:
        catalog_model(name)


def _embedded(name: str, settings: Settings, tell: Tell | None) -> LanguageModel:
    model, folder = catalog_model(name), models_folder(settings.home)
    if tell is None:
        require_verified(model, folder)
    else:
        require_package()  # before a gigabyte is fetched for nothing
    options = EngineOptions(
        path=folder / model.file_name,
        sha256=model.sha256,
        cache_folder=settings.home / "cache" / "prefixes",
        threads=settings.threads,
    )
    embedded = EmbeddedModel(name, options)
    if tell is None:
        return embedded
    return ArrivingModel(embedded, Arrival(model, folder, settings.package_index), tell)


def _url_endpoint(chosen: str, settings: Settings) -> Endpoint:
    address = _split(chosen)
    base_url = urlunsplit(address._replace(fragment="")).rstrip("/")
    return Endpoint(
        name=f"{base_url}#{address.fragment}",
        base_url=base_url.removesuffix("/chat/completions"),
        model=address.fragment,
        context_tokens=URL_CONTEXT_TOKENS,
        key=_clean(settings.api_key, "ALFRED_API_KEY") if settings.api_key else None,
    )


def _split(chosen: str) -> SplitResult:
    try:
        address = urlsplit(chosen)
        port = address.port
    except ValueError as exc:
        raise ModelFailed("model.unknown", f"ALFRED_MODEL has no valid URL: {exc}.") from exc
    if address.username is not None or address.password is not None:
        hint = "Put the key into ALFRED_API_KEY; URLs end up in logs."
        raise ModelFailed("model.unknown", "ALFRED_MODEL has a login in its URL.", hint=hint)
    if not address.hostname or port == 0 or not address.fragment:
        hint = "Write http://HOST:PORT/v1#NAME, with the model's name after the #."
        raise ModelFailed("model.unknown", f"{chosen} names no model.", hint=hint)
    return address


def _key(kind: str, provider: Provider, settings: Settings) -> str | None:
    if provider.key_variable is None:
        return None
    variable = "ALFRED_API_KEY" if settings.api_key else provider.key_variable
    key = settings.api_key or settings.provider_keys.get(provider.key_variable)
    if not key:
        raise ModelFailed(
            "model.no_key",
            f"{kind} needs a key and none is set.",
            hint=f"Set {provider.key_variable} or ALFRED_API_KEY.",
        )
    return _clean(key, variable)


def _clean(key: str, variable: str) -> str:
    """Refuse here what an HTTP header cannot hold: the client's own error would show the key."""
    bare = key.strip()
    if not bare.isascii() or not bare.isprintable() or " " in bare:
        raise ModelFailed(
            "model.no_key",
            f"{variable} holds characters that no key has.",
            hint="Copy the key again, without spaces, quotes or line breaks.",
        )
    return bare


def _unknown(chosen: str, kind: str) -> ModelFailed:
    near = difflib.get_close_matches(kind.lower(), [EMBEDDED, *PROVIDERS], n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]}:NAME? " if near else ""
    return ModelFailed(
        "model.unknown", f"{chosen!r} names no model.", hint=f"{hint}Write one of: {FORMS}."
    )
