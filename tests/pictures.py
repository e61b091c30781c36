"""Takes the pictures of docs/img from a real browser on a running server: `make pictures`."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect

from alfred.installed import load_domains
from alfred.server.hall import UserRow
from alfred.store.migrate import migrate
from tests.browser import Browser, Look, open_browser
from tests.desk import Desk, open_desk
from tests.postgres import short_home, start_test_server
from tests.served import approved, post, turn_in

PICTURES = Path(__file__).parents[1] / "docs/img"
MAX_BYTES = 150_000
USER = "robin"
TEXT = """Data Analyst at Harbour & Finch

We are a small publisher of nautical charts in Bristol, and we are hiring a Data Analyst.

What you will need:
- Solid SQL and some Python
- Two years of experience with dashboards
- Nice to have: you have sailed before

Apply by 15 January 2027.
"""
READ: dict[str, Any] = {
    "company": "Harbour & Finch",
    "title": "Data Analyst",
    "location": "Bristol",
    "deadline": "15 January 2027",
    "user_intent": None,
    "requirements": [
        {"kind": "skill", "text": "Solid SQL and some Python", "importance": "must"},
        {
            "kind": "experience",
            "text": "Two years of experience with dashboards",
            "importance": "must",
        },
        {"kind": "experience", "text": "you have sailed before", "importance": "nice"},
    ],
}
STORED = (
    ("Alder Labs", "Data Engineer", "applied"),
    ("Northwind Ferries", "Timetable Analyst", "interviewing"),
    ("Lumen Kites", "Backend Engineer", None),
)
QUESTION = "Why is basket-api slow since 14:00?"


async def main() -> None:
    """Take every picture, and say how large each is."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    async with _open() as (desk, browser):
        user = await desk.served.user(USER)
        await _store(desk, user)
        page = await browser.page(user, Look(language="en"))
        await _of_postings(desk, page)
        run = await _of_a_diagnosis(desk, page)
        await _picture(page, "/settings", "settings")
        dark = await browser.page(user, Look(language="en", colours="dark"))
        await _picture(dark, run, "diagnosis-dark")
        phone = await browser.page(user, Look(language="zh", is_phone=True))
        await phone.get_by_role("link", name="Harbour").first.click()
        await expect(phone.locator("article.action").first).to_be_visible()
        await _picture(phone, None, "review-phone")
    for file in sorted(PICTURES.glob("*.png")):
        size = file.stat().st_size
        print(f"{file.name}: {size / 1000:.0f} kB")
        assert size < MAX_BYTES, file


@asynccontextmanager
async def _open() -> AsyncGenerator[tuple[Desk, Browser]]:
    with short_home() as home, tempfile.TemporaryDirectory() as folder:
        database = start_test_server(home)
        migrate(database, load_domains())
        async with (
            open_desk(database, Path(folder)) as desk,
            open_browser(desk.served) as browser,
        ):
            yield desk, browser


async def _store(desk: Desk, user: UserRow) -> None:
    """Put a few postings on the board."""
    client = await desk.served.client(user)
    for company, title, status in STORED:
        desk.model.read = {**READ, "company": company, "title": title, "deadline": None}
        words = TEXT.replace("Harbour & Finch", company).replace("Data Analyst", title)
        turn = await turn_in(client, await post(client, words), "waiting")
        proposal = (await client.get(f"/v1/proposals/{turn['proposal']}")).json()
        await approved(client, proposal)
        await turn_in(client, turn["turn"], "done")
        jobs = (await client.get("/v1/jobs")).json()["items"]
        job = next(each for each in jobs if each["company"] == company)
        if status is not None:
            answer = await client.post(
                f"/v1/applications/{job['id']}/status", json={"status": status}
            )
            await approved(client, answer.json())
    desk.model.read = READ


async def _of_postings(desk: Desk, page: Page) -> None:
    """Follow a posting from the conversation to the board."""
    desk.model.stops_at = "any"
    await page.goto(f"{desk.served.url}/conversation")
    await page.get_by_placeholder("Paste a posting").fill(TEXT)
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator(".live dd")).not_to_have_count(0)
    await _picture(page, None, "conversation")
    desk.model.let_go()
    said = page.locator("article.message").first
    await said.get_by_role("link", name="Review", exact=True).click()
    await expect(page.locator("mark").first).to_be_visible()
    card = page.locator("article.action").nth(1)
    await card.get_by_role("button", name="in the source").first.focus()
    await _picture(page, None, "review")
    await _picture(page, "/", "inbox")
    await _picture(page, "/job/applications", "applications")
    await _picture(page, "/job", "board")
    await page.get_by_role("link", name="Timetable Analyst").click()
    await expect(page.get_by_role("heading", name="Requirements")).to_be_visible()
    await _picture(page, None, "posting")


async def _of_a_diagnosis(desk: Desk, page: Page) -> str:
    """Look at a diagnosis half way and at its end; give the path of its page."""
    desk.model.stops_at = "verifier"
    await page.goto(f"{desk.served.url}/diagnosis")
    await page.get_by_label("What is wrong").fill(QUESTION)
    await page.get_by_role("button", name="Ask").click()
    await expect(page.locator(".graph-node.running")).to_be_visible()
    await _picture(page, None, "diagnosis-running")
    desk.model.let_go()
    await expect(page.locator(".answer .badge")).to_be_visible()
    path = page.url.removeprefix(desk.served.url)
    await _picture(page, path, "diagnosis")
    await _picture(page, "/diagnosis", "diagnoses")
    return path


async def _picture(page: Page, path: str | None, name: str) -> None:
    """Show an address, or what is there already, and take a picture of what a screen shows."""
    if path is not None:
        await page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + path)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.locator("main")).not_to_contain_text("Loading")
    await page.evaluate("document.fonts.ready")
    await page.screenshot(path=PICTURES / f"{name}.png", scale="css")


if __name__ == "__main__":
    asyncio.run(main())
