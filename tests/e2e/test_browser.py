"""The web client in a real browser, on the real server, database and queue: what people do."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator

import pytest
from playwright.async_api import Page, expect

from alfred.store.address import Address
from tests.browser import Browser, Look, action, open_browser
from tests.desk import Desk, open_desk
from tests.served import proposed
from tests.shell import posting

A_MACHINE_S = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|extract_job|job_posting|\bundefined\b")
"""What people are never shown: ids of rows, names of nodes and tables."""
QUESTION = "Why does basket-api answer with errors since 14:00?"


@pytest.fixture(scope="module")
async def desk(
    served_database: Address, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Desk]:
    async with open_desk(served_database, tmp_path_factory.mktemp("desk")) as opened:
        yield opened


@pytest.fixture
async def browser(desk: Desk) -> AsyncGenerator[Browser]:
    async with open_browser(desk.served) as opened:
        yield opened
    desk.model.let_go()


async def test_a_posting_goes_from_the_clipboard_to_the_board_and_on_to_applied(
    desk: Desk, browser: Browser
) -> None:
    page = await browser.page(await desk.served.user())
    desk.model.stops_at = "any"
    await page.get_by_role("link", name="对话").click()
    await page.get_by_placeholder("粘贴招聘信息").fill(posting("Acme")[0])
    await page.get_by_role("button", name="发送").click()
    live = page.locator(".live")
    await expect(live.locator(".steps .running")).to_have_text("阅读招聘信息")
    await expect(live.locator("dd").first).to_contain_text("Acme")
    await expect(live).to_contain_text("见于原文")
    desk.model.let_go()

    await page.get_by_role("link", name="审阅").click()
    await expect(page.locator("mark", has_text="Acme")).to_be_visible()
    await action(page, 2).get_by_role("button", name="修改").click()
    await action(page, 2).get_by_label("职位名称").fill("Lead Engineer")
    await action(page, 2).get_by_role("button", name="查看新的效果").click()
    await expect(page.locator(".notice.amended")).to_contain_text("Lead Engineer")
    await expect(action(page, 2)).to_contain_text("由你填写")

    await action(page, 3).get_by_role("button", name="拒绝").click()
    await page.get_by_role("button", name="执行").click()
    await expect(page.locator("article.action .badge.committed")).to_have_count(2)
    await expect(action(page, 3)).to_contain_text("已丢弃")

    await page.get_by_role("link", name="求职").click()
    column = page.get_by_role("region", name="已投递")
    await page.locator(".handle").drag_to(column, steps=8)  # a drag begins after some pixels
    await expect(page.get_by_role("dialog")).to_contain_text("Lead Engineer · Acme → 已投递")
    await expect(page.get_by_role("dialog")).not_to_contain_text(A_MACHINE_S)
    await page.get_by_role("button", name="确认").click()
    await expect(column.get_by_role("link", name="Lead Engineer")).to_be_focused()
    await column.get_by_role("link", name="Lead Engineer").click()
    await expect(page.locator("main")).to_contain_text("没有写明")

    for path in ("/", "/conversation"):
        await page.goto(desk.served.url + path)
        await expect(page.locator("main")).to_contain_text("Lead Engineer · Acme →")
        await expect(page.locator("main")).not_to_contain_text(A_MACHINE_S)
    await page.goto(f"{desk.served.url}/job/applications")
    await expect(page.locator(".funnel .recharts-bar-rectangle")).not_to_have_count(0)
    await expect(page.locator(".funnel")).to_contain_text("已投递：1 份")
    await expect(page.get_by_role("cell", name="Acme")).to_be_visible()


async def test_a_question_lights_up_its_path_and_ends_in_an_answer_that_cites(
    desk: Desk, browser: Browser
) -> None:
    page = await browser.page(await desk.served.user())
    desk.model.stops_at = "verifier"
    await page.get_by_role("link", name="诊断").click()
    await page.get_by_label("出了什么问题").fill(QUESTION)
    await page.get_by_role("button", name="提问").click()
    await expect(page.locator(".calls details").first).to_be_visible()
    node = page.locator(".graph-node")
    await expect(node.and_(page.locator(".running"))).to_have_text("核对")
    await expect(node.and_(page.locator(".done"))).to_have_count(4)
    await expect(page.locator(".graph-edge.taken")).to_have_count(4)
    assert await page.locator(".answer").count() == 0
    desk.model.let_go()

    await expect(page.locator(".answer .badge")).to_be_visible()
    await expect(node.and_(page.locator(".running"))).to_have_count(0)
    cited = page.locator(".answer .citation").first
    await cited.get_by_role("button").focus()
    await expect(cited.get_by_role("tooltip")).to_be_visible()
    await page.get_by_role("link", name="审阅记录").click()
    await page.get_by_role("button", name="执行").click()
    await expect(page.locator("article.action .badge.committed").first).to_be_visible()


async def test_a_page_that_is_loaded_anew_in_mid_stream_shows_what_was_read_and_goes_on(
    desk: Desk, browser: Browser
) -> None:
    page = await browser.page(await desk.served.user())
    desk.model.stops_at = "any"
    await page.goto(f"{desk.served.url}/conversation")
    await page.get_by_placeholder("粘贴招聘信息").fill(posting("Larch")[0])
    await page.get_by_role("button", name="发送").click()
    await expect(page.locator(".live dd").first).to_contain_text("Larch")
    await page.reload()
    await expect(page.locator(".live dd").first).to_contain_text("Larch")
    desk.model.let_go()
    await expect(page.get_by_role("link", name="审阅")).to_be_visible()
    await expect(page.locator("article.message")).to_have_count(1)


async def test_everything_can_be_rejected_and_nothing_is_on_the_board(
    desk: Desk, browser: Browser
) -> None:
    user = await desk.served.user()
    page, client = await browser.page(user), await desk.served.client(user)
    proposal = await proposed(client, "Nowhere")
    await page.goto(f"{desk.served.url}/review/{proposal['proposal']}")
    await action(page, 1).get_by_role("button", name="拒绝").click()
    await expect(page.locator("article.action.fallen")).to_have_count(2)
    await page.get_by_role("button", name="执行").click()
    await expect(page.locator(".review")).to_contain_text("已丢弃 3 项，原始内容保留")
    await page.get_by_role("link", name="求职").click()
    await expect(page.locator("main")).to_contain_text("还没有")
    await page.get_by_role("link", name="收件箱").click()
    await expect(page.locator("main")).to_contain_text("没有等你决定的事")


async def test_the_whole_review_takes_no_mouse(desk: Desk, browser: Browser) -> None:
    user = await desk.served.user()
    page, client = await browser.page(user), await desk.served.client(user)
    await proposed(client, "Keyhole")
    await page.reload()
    await reach(page, "a.card-title")
    await page.keyboard.press("Enter")
    await expect(page.locator("mark", has_text="Keyhole").first).to_be_visible()
    await reach(page, "article.action")
    for key in ("a", "ArrowDown", "e"):
        await page.keyboard.press(key)
    await expect(page.get_by_label("职位名称")).to_be_focused()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.type("Locksmith")
    await page.keyboard.press("Enter")
    await expect(page.locator(".notice.amended")).to_contain_text("Locksmith")
    await expect(action(page, 2)).to_be_focused()
    for key in ("a", "ArrowDown", "r"):
        await page.keyboard.press(key)
    await reach(page, ".decision-bar button.primary")
    await page.keyboard.press("Enter")
    await expect(page.locator("article.action .badge.committed")).to_have_count(2)

    await reach(page, "nav a[href='/job']")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("求职看板")
    await reach(page, ".handle")
    for key in ("Space", "ArrowRight", "Space"):
        await page.keyboard.press(key)
        await page.wait_for_timeout(100)  # the board takes a key at a time
    await expect(page.get_by_role("dialog")).to_be_visible()
    await reach(page, "dialog button.primary")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    (job,) = (await client.get("/v1/jobs")).json()["items"]
    assert (job["title"], job["status"] is None) == ("Locksmith", False)


async def reach(page: Page, selector: str) -> None:
    """Press Tab until what is meant has the focus, and can be seen to have it."""
    for _ in range(80):
        await page.keyboard.press("Tab")
        if await page.evaluate("one => document.activeElement.matches(one)", selector):
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert await page.evaluate(outline) != "none", f"{selector} shows no focus"
            return
    raise AssertionError(f"no Tab leads to {selector}")


async def test_on_a_phone_no_page_is_wider_than_the_screen(desk: Desk, browser: Browser) -> None:
    user = await desk.served.user()
    client = await desk.served.client(user)
    proposal = await proposed(client, "Donaudampfschifffahrtsgesellschaft" * 3)
    page = await browser.page(user, Look(language="en", is_phone=True))
    review = f"/review/{proposal['proposal']}"
    for path in ("/", "/conversation", review, "/job", "/job/applications", "/diagnosis"):
        await page.goto(desk.served.url + path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await expect(page.locator("main")).not_to_contain_text(re.compile("Loading"))
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await page.evaluate(wide) <= 0, path
