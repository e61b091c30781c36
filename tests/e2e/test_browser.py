"""The web client in a real browser, on the real server, database and queue."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page, async_playwright, expect

from alfred.server.client_pages import FIRST, FOLDER
from alfred.store.address import Address
from tests.served import Served, open_served, proposed
from tests.shell import posting
from tests.world import settings_for

CHROMIUM = "/usr/bin/chromium"
"""Debian's package; no test downloads a browser."""


@asynccontextmanager
async def open_page(served: Served, user_name: str) -> AsyncGenerator[Page]:
    """Open the inbox as a user who came by a sign-in link; whatever the page breaks is an error."""
    assert (FOLDER / FIRST).is_file(), "The web client is not built: make web."
    link = await served.link(await served.user(user_name))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(locale="zh-CN")
        broken: list[str] = []
        page.on("pageerror", lambda error: broken.append(error.message))
        page.on("dialog", lambda dialog: broken.append(f"a dialog opened: {dialog.message}"))
        await page.goto(f"{served.url}/sign-in#link={link}")
        await expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("收件箱|Inbox"))
        assert "link=" not in page.url
        await page.evaluate("localStorage.setItem('alfred.language', 'zh')")
        await page.goto(served.url)
        try:
            yield page
        finally:
            await browser.close()
        assert broken == []


async def test_a_posting_goes_from_the_clipboard_to_the_board_and_on_to_applied(
    database: Address, tmp_path: Path
) -> None:
    async with (
        open_served(database, settings_for(tmp_path)) as served,
        open_page(served, "from clipboard to board") as page,
    ):
        await page.get_by_role("link", name="对话").click()
        await page.get_by_placeholder("粘贴招聘信息").fill(posting("Acme")[0])
        await page.get_by_role("button", name="发送").click()
        await page.get_by_role("link", name="审阅").click()
        await expect(page.locator("mark", has_text="Acme")).to_be_visible()

        card = page.locator("article.action").nth(1)
        await card.get_by_role("button", name="修改").click()
        await card.get_by_label("职位名称").fill("Lead Engineer")
        await card.get_by_role("button", name="查看新的效果").click()
        await expect(page.locator(".notice.amended")).to_contain_text("Lead Engineer")

        requirement = page.locator("article.action").nth(2)
        await requirement.get_by_role("button", name="拒绝").click()
        await page.get_by_role("button", name="执行").click()
        await expect(page.locator(".review .badge.committed").first).to_be_visible()
        await expect(requirement).to_contain_text("已丢弃")

        await page.get_by_role("link", name="求职").click()
        column = page.get_by_role("region", name="已投递")
        await page.locator(".handle").drag_to(column, steps=8)  # a drag begins after some pixels
        await page.get_by_role("button", name="确认").click()
        await expect(column).to_contain_text("Lead Engineer")


async def test_two_tabs_cannot_decide_what_only_one_of_them_has_seen(
    database: Address, tmp_path: Path
) -> None:
    async with (
        open_served(database, settings_for(tmp_path)) as served,
        open_page(served, "two tabs") as page,
    ):
        client = await served.client(await served.user("two tabs"))
        proposal = await proposed(client, "Acme")
        await page.goto(f"{served.url}/review/{proposal['proposal']}")
        await expect(page.locator("article.action").first).to_be_visible()
        edits = {proposal["actions"][1]["id"]: {"title": "Chief Engineer"}}
        body = {"digest": proposal["digest"], "edits": edits}
        answer = await client.post(f"/v1/proposals/{proposal['proposal']}/amend", json=body)
        assert answer.status_code == 200
        await page.get_by_role("button", name="执行").click()
        await expect(page.locator(".notice.stale")).to_contain_text("Chief Engineer")
        assert (await client.get("/v1/jobs")).json()["items"] == []


async def test_what_a_posting_says_is_shown_as_text_and_never_run(
    database: Address, tmp_path: Path
) -> None:
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    async with (
        open_served(database, settings_for(tmp_path)) as served,
        open_page(served, hostile) as page,
    ):
        client = await served.client(await served.user(hostile))
        proposal = await proposed(client, hostile)
        for path in (f"/review/{proposal['proposal']}", "/conversation", "/", "/settings"):
            await page.goto(served.url + path)
            await expect(page.locator("main")).to_contain_text("<img src=x")
            assert await page.locator("main img, main script").count() == 0
