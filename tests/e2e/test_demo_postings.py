"""The postings of `make demo` through the small embedded model, really run."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import pytest

from alfred.store.address import Address
from tests.conftest import ModelFile
from tests.shell import PENDING, Shell, url_of

DEMO = Path(__file__).parents[2] / "demo"


@pytest.fixture
def shell(database: Address, small_model: ModelFile, tmp_path: Path) -> Shell:
    home = tmp_path / "home"
    home.mkdir()
    (home / "models").symlink_to(small_model.path.parent)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ALFRED_")}
    return Shell(
        {
            **kept,
            "ALFRED_HOME": str(home),
            "ALFRED_DATABASE_URL": url_of(database),
            "ALFRED_MODEL": f"embedded:{small_model.model.name}",
            "ALFRED_USER": f"user-{uuid4()}",
            "ALFRED_LANGUAGE": "en",
            "ALFRED_TIMEZONE": "UTC",
        }
    )


@pytest.mark.model
@pytest.mark.parametrize(
    ("file", "company", "title"),
    [
        ("posting_zh.txt", "云栖谷智能科技", "后端开发工程师"),
        ("posting_en.txt", "Harbour & Finch", "Data Analyst"),
    ],
)
def test_a_demo_posting_goes_from_words_to_rows_with_the_embedded_model(
    shell: Shell, file: str, company: str, title: str
) -> None:
    captured = shell.run("capture", str(DEMO / file), code=PENDING)
    assert "extract_job: reading with embedded:" in captured.stderr
    proposal = shell.json("review", "--show", code=PENDING)
    unsure = [action["ordinal"] for action in proposal["actions"] if not action["ticked"]]
    shell.run("review", "--yes", *(f"--reject={number}" for number in unsure))
    (row,) = shell.json("job", "list")["postings"]
    assert (row["company"], row["title"]) == (company, title)
