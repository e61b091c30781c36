"""Debian's Chromium on a running server: pages of signed-in users, watched for what they break."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import Browser as Chromium
from playwright.async_api import ConsoleMessage, Locator, Page, Request, async_playwright, expect

from alfred.server.client_pages import FIRST, FOLDER
from alfred.server.hall import UserRow
from tests.debian_tree import debian_tree
from tests.served import PATIENCE_S, Served

AXE = Path(__file__).parents[1] / "web/node_modules/axe-core/axe.min.js"
SERIOUS = ("serious", "critical")
PHONE = {"width": 390, "height": 844}
SCREEN = {"width": 1280, "height": 860}


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a page is looked at."""

    language: str = "zh"
    colours: Literal["light", "dark"] = "light"
    is_phone: bool = False


@dataclass
class Browser:
    """A running Chromium; `broken` collects what no page may do."""

    served: Served
    chromium: Chromium
    broken: list[str] = field(default_factory=list[str])

    async def page(self, user: UserRow, look: Look | None = None) -> Page:
        """Sign in as a browser without a past does, by a link, and show the inbox."""
        page = await self.stranger(look)
        link = await self.served.link(user)
        await page.goto(f"{self.served.url}/sign-in#link={link}")
        await expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("收件箱|Inbox"))
        assert "link=" not in page.url
        return page

    async def stranger(self, look: Look | None = None) -> Page:
        """Open an empty page, with cookies and a memory of its own."""
        look = look or Look()
        context = await self.chromium.new_context(
            color_scheme=look.colours,
            locale="zh-CN" if look.language == "zh" else "en-GB",
            reduced_motion="reduce",  # a spinner would make no two pictures the same
            timezone_id="UTC",
            viewport=PHONE if look.is_phone else SCREEN,
        )
        context.set_default_timeout(PATIENCE_S * 1000)
        chosen = json.dumps(look.language)
        await context.add_init_script(f"localStorage['alfred.language'] ??= {chosen}")
        return self._watched(await context.new_page())

    async def beside(self, page: Page) -> Page:
        """Open another tab of the same browser."""
        return self._watched(await page.context.new_page())

    def _watched(self, page: Page) -> Page:
        page.on("pageerror", lambda error: self.broken.append(error.message))
        page.on("dialog", lambda dialog: self.broken.append(f"a dialog opened: {dialog.message}"))
        page.on("console", self._hear)
        page.on("request", self._see)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "Warning:" in message.text:
            self.broken.append(message.text)

    def _see(self, request: Request) -> None:
        there = urlsplit(request.url)
        if there.scheme in ("http", "https") and there.netloc != urlsplit(self.served.url).netloc:
            self.broken.append(f"asked {request.url}")


@asynccontextmanager
async def open_browser(served: Served) -> AsyncGenerator[Browser]:
    """Run Chromium until the block ends; whatever its pages broke is an error then."""
    assert (FOLDER / FIRST).is_file(), "The web client is not built: make web."
    tree = debian_tree("chromium", "usr/lib/chromium/chromium")
    expect.set_options(timeout=PATIENCE_S * 1000)
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=tree.program,
            env={**os.environ, **tree.environment},
            args=["--no-sandbox"],  # for root, whom Chromium's own sandbox refuses
        )
        browser = Browser(served, chromium)
        try:
            yield browser
        finally:
            await chromium.close()
    assert browser.broken == []


async def serious_faults(page: Page) -> list[str]:
    """Ask axe what keeps people out of a page; what is serious comes back in words.

    In dark colours only the contrast can be another. The page's policy lets no foreign script in:
    it is evaluated as the developer's console would.
    """
    await page.evaluate(AXE.read_text(encoding="utf-8"))
    faults = await _ask_axe(page, {"resultTypes": ["violations"]})
    await page.emulate_media(color_scheme="dark")
    faults += await _ask_axe(page, {"runOnly": ["color-contrast"]})
    await page.emulate_media(color_scheme="light")
    return faults


async def _ask_axe(page: Page, options: dict[str, Any]) -> list[str]:
    found: dict[str, Any] = await page.evaluate("options => axe.run(document, options)", options)
    assert found["passes"], "axe looked at nothing"
    return [
        f"{urlsplit(page.url).path}: {fault['id']}: {node['html'][:200]} {node['failureSummary']}"
        for fault in found["violations"]
        if fault["impact"] in SERIOUS
        for node in fault["nodes"]
    ]


def action(page: Page, ordinal: int) -> Locator:
    """Find the card of an action in a review."""
    return page.locator("article.action").nth(ordinal - 1)
