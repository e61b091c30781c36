"""The web client where things go wrong: conflicts, ends of sessions, hostile words, no mouse."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from playwright.async_api import Locator, Page, expect
from playwright.async_api import TimeoutError as OutOfTime

from alfred.store.address import Address
from tests.browser import Browser, action, open_browser, serious_faults
from tests.desk import Desk, open_desk
from tests.served import approved, proposed, until
from tests.shell import posting
from tests.world import Clock

HOSTILE = '<img src=x onerror=alert(1)>"><script>alert(2)</script>$t(nav.inbox){{7}}'
SHOWN = "<img src=x onerror=alert(1)>"
QUESTION = "Why does basket-api answer with errors since 14:00?"


def make_hostile(call: dict[str, Any]) -> None:
    """Let every line that a tool shows carry markup."""
    call["lines"] = [f"{line} {HOSTILE}" for line in call.get("lines", [])]


@pytest.fixture(scope="module")
async def desk(
    served_database: Address, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Desk]:
    home = tmp_path_factory.mktemp("desk")
    async with open_desk(served_database, home, change=make_hostile) as opened:
        yield opened


@pytest.fixture
async def browser(desk: Desk) -> AsyncGenerator[Browser]:
    async with open_browser(desk.served) as opened:
        yield opened
    desk.model.let_go()


async def review_of(page: Page, desk: Desk, proposal: dict[str, Any]) -> None:
    await page.goto(f"{desk.served.url}/review/{proposal['proposal']}")
    await expect(action(page, 1)).to_be_visible()


async def type_title(page: Page, title: str) -> Locator:
    """Open the form of the posting and change its title; return the button that sends it."""
    await action(page, 2).get_by_role("button", name="修改").click()
    await action(page, 2).get_by_label("职位名称").fill(title)
    return action(page, 2).get_by_role("button", name="查看新的效果")


async def edit_title(page: Page, title: str) -> None:
    await (await type_title(page, title)).click()


async def test_two_tabs_cannot_decide_what_only_one_of_them_has_seen(
    desk: Desk, browser: Browser
) -> None:
    user = await desk.served.user()
    page, client = await browser.page(user), await desk.served.client(user)
    proposal = await proposed(client, "Acme")
    other = await browser.beside(page)
    await review_of(page, desk, proposal)
    await review_of(other, desk, proposal)
    await edit_title(other, "Chief Engineer")
    await expect(other.locator(".notice.amended")).to_contain_text("Chief Engineer")

    await page.get_by_role("button", name="执行").click()
    await expect(page.locator(".notice.stale")).to_contain_text("Chief Engineer")
    assert (await client.get("/v1/jobs")).json()["items"] == []
    await page.get_by_role("button", name="执行").click()
    await expect(page.locator("article.action .badge.committed")).to_have_count(3)
    await other.get_by_role("button", name="执行").click()
    await expect(other.locator("article.action .badge.committed")).to_have_count(3)
    assert len((await client.get("/v1/jobs")).json()["items"]) == 1


async def test_a_form_that_is_stale_is_refused_and_shows_what_is_so_now(
    desk: Desk, browser: Browser
) -> None:
    user = await desk.served.user()
    page, client = await browser.page(user), await desk.served.client(user)
    proposal = await proposed(client, "Acme")
    await review_of(page, desk, proposal)
    await action(page, 2).get_by_role("button", name="修改").click()
    await action(page, 2).get_by_label("职位名称").fill("Typed for an hour")
    await client.post(
        f"/v1/proposals/{proposal['proposal']}/amend",
        json={
            "digest": proposal["digest"],
            "edits": {proposal["actions"][1]["id"]: {"title": "Said elsewhere"}},
        },
    )
    await action(page, 2).get_by_role("button", name="查看新的效果").click()
    await expect(page.locator(".notice.stale")).to_contain_text("Said elsewhere")
    await expect(action(page, 2).get_by_label("职位名称")).to_have_value("Typed for an hour")
    now = (await client.get(f"/v1/proposals/{proposal['proposal']}")).json()
    assert now["actions"][1]["args"]["title"] == "Said elsewhere"


async def test_a_session_that_ends_in_mid_edit_loses_nothing_that_was_typed(
    desk: Desk, browser: Browser
) -> None:
    user = await desk.served.user()
    page, client = await browser.page(user), await desk.served.client(user)
    proposal = await proposed(client, "Acme")
    await review_of(page, desk, proposal)
    send = await type_title(page, "Typed for an hour")
    await page.context.clear_cookies()
    with suppress(OutOfTime):  # the page may hear of it before, by its stream of events
        await send.click(timeout=2_000)
    await expect(page).to_have_url(f"{desk.served.url}/sign-in")
    assert "Acme" not in await page.content()

    other = await browser.beside(page)
    await other.goto(f"{desk.served.url}/sign-in#link={await desk.served.link(user)}")
    await expect(other.get_by_role("heading", level=1)).to_have_text("收件箱")
    await page.reload()
    await expect(action(page, 2).get_by_label("职位名称")).to_have_value("Typed for an hour")
    await action(page, 2).get_by_role("button", name="查看新的效果").click()
    await expect(page.locator(".notice.amended")).to_contain_text("Typed for an hour")


async def test_a_tab_whose_session_another_one_replaced_goes_on_where_it_was(
    desk: Desk, browser: Browser
) -> None:
    user = await desk.served.user()
    page, client = await browser.page(user), await desk.served.client(user)
    await review_of(page, desk, await proposed(client, "Acme"))
    other = await browser.beside(page)
    await other.goto(f"{desk.served.url}/sign-in#link={await desk.served.link(user)}")
    await expect(other.get_by_role("heading", level=1)).to_have_text("收件箱")
    await page.get_by_role("button", name="执行").click()
    await expect(page.locator("article.action .badge.committed")).to_have_count(3)


async def test_the_rest_is_approved_or_rejected_at_once_but_what_rests_on_nothing_one_by_one(
    desk: Desk, browser: Browser
) -> None:
    user = await desk.served.user()
    page, client = await browser.page(user), await desk.served.client(user)
    said = posting("Acme")[1]
    invented = {"kind": "skill", "text": "Fluent Etruscan", "importance": "must"}
    desk.model.read = {**said, "requirements": [*said["requirements"], invented]}
    proposal = await proposed(client, "Acme")
    desk.model.read = None
    await review_of(page, desk, proposal)
    bar = page.locator(".decision-bar")
    await expect(bar).to_contain_text("写入 3 项，丢弃 0 项，未决定 1 项")
    await bar.get_by_role("button", name="全部重选").click()
    await expect(bar).to_contain_text("写入 0 项，丢弃 0 项，未决定 4 项")
    await bar.get_by_role("button", name="批准其余").click()
    await expect(bar).to_contain_text("写入 3 项，丢弃 0 项，未决定 1 项")
    await bar.get_by_role("button", name="下一个未决定").click()
    await expect(action(page, 4)).to_be_focused()
    await bar.get_by_role("button", name="拒绝其余").click()
    await expect(bar).to_contain_text("写入 3 项，丢弃 1 项，未决定 0 项")
    await page.get_by_role("button", name="执行").click()
    await expect(page.locator("article.action .badge.committed")).to_have_count(3)
    await expect(page.locator(".decided")).to_be_focused()


async def test_a_board_of_hundreds_counts_them_all_and_finds_one(
    desk: Desk, browser: Browser, served_database: Address
) -> None:
    user = await desk.served.user()
    page, client = await browser.page(user), await desk.served.client(user)
    await approved(client, await proposed(client, "Acme"))
    job = await stored(client)
    with psycopg.connect(served_database.admin_dsn()) as connection:
        connection.execute(
            "INSERT INTO job_posting (user_id, id, organization_id, organization_user_id, title,"
            " fingerprint) SELECT user_id, gen_random_uuid(), organization_id,"
            " organization_user_id, 'Post ' || n, 'post ' || n FROM job_posting,"
            " generate_series(1, 249) n WHERE id = %s",
            [UUID(job)],
        )
    await page.goto(f"{desk.served.url}/job")
    column = page.get_by_role("region", name="未投递")
    await expect(column.get_by_role("heading")).to_contain_text("250")
    assert await column.locator("article").count() == 25
    await page.get_by_label("按职位、公司或地点查找").fill("post 117")
    await expect(column.locator("article")).to_have_count(1)


async def test_a_value_that_does_not_fit_is_refused_beside_its_field(
    desk: Desk, browser: Browser
) -> None:
    user = await desk.served.user()
    page, client = await browser.page(user), await desk.served.client(user)
    proposal = await proposed(client, "Acme")
    await review_of(page, desk, proposal)
    await edit_title(page, "")
    await expect(action(page, 2).locator(".edit-form")).to_contain_text("必须填写")
    await action(page, 2).get_by_label("职位名称").fill("x" * 5000)
    await action(page, 2).get_by_role("button", name="查看新的效果").click()
    await expect(action(page, 2).locator(".edit-form")).to_contain_text("太长了")
    now = (await client.get(f"/v1/proposals/{proposal['proposal']}")).json()
    assert now["digest"] == proposal["digest"]


async def test_what_has_expired_is_not_written_and_the_page_says_so(
    database: Address, tmp_path: Path
) -> None:
    clock = Clock(datetime.now(UTC))
    async with (
        open_desk(database, tmp_path, clock=clock) as desk,
        open_browser(desk.served) as browser,
    ):
        user = await desk.served.user()
        page, client = await browser.page(user), await desk.served.client(user)
        proposal = await proposed(client, "Acme")
        await review_of(page, desk, proposal)
        clock.now = datetime.fromisoformat(proposal["expires_at"]) + timedelta(minutes=1)
        await page.get_by_role("button", name="执行").click()
        await expect(page.locator(".problem")).to_contain_text("review.expired")
        await page.reload()
        await expect(page.locator(".review .badge").first).to_have_text("已过期")
        assert await page.get_by_role("button", name="执行").count() == 0
        await page.get_by_role("link", name="求职").click()
        await expect(page.locator("main")).to_contain_text("还没有职位")


async def test_signing_out_ends_every_tab_and_the_way_back_shows_nothing(
    desk: Desk, browser: Browser
) -> None:
    user = await desk.served.user("Somebody who leaves")
    page, client = await browser.page(user), await desk.served.client(user)
    proposal = await proposed(client, "Secret Employer")
    other = await browser.beside(page)
    await other.goto(f"{desk.served.url}/conversation")
    await other.get_by_placeholder("粘贴招聘信息").fill("Secret Employer again")
    await review_of(other, desk, proposal)
    await page.get_by_role("link", name="设置").click()
    await page.get_by_role("button", name="退出登录").click()
    await expect(page).to_have_url(f"{desk.served.url}/sign-in")
    await expect(other).to_have_url(f"{desk.served.url}/sign-in")
    await page.go_back()
    await expect(page.locator("main")).to_contain_text("alfred serve")
    for tab in (page, other):
        assert "Secret Employer" not in await tab.content()
        assert "Secret" not in await tab.evaluate("JSON.stringify(localStorage)")
    assert (await client.get("/v1/jobs")).json()["items"] == []


async def test_a_used_link_signs_nobody_in_and_says_what_to_do(
    desk: Desk, browser: Browser
) -> None:
    link = await desk.served.link(await desk.served.user())
    for attempt in range(2):
        page = await browser.stranger()
        await page.goto(f"{desk.served.url}/sign-in#link={link}")
        if attempt:
            await expect(page.locator(".problem")).to_contain_text("access.")
            await expect(page.locator("main")).to_contain_text("只能用一次")
        else:
            await expect(page.get_by_role("heading", level=1)).to_have_text("收件箱")


async def test_what_was_typed_stays_where_the_server_does_not_answer(
    desk: Desk, browser: Browser
) -> None:
    page = await browser.page(await desk.served.user())
    await page.goto(f"{desk.served.url}/conversation")
    words = page.get_by_placeholder("粘贴招聘信息")
    await words.fill(posting("Patience")[0])
    await page.context.set_offline(True)
    await page.get_by_role("button", name="发送").click()
    await expect(page.locator(".problem")).to_contain_text("没有应答")
    await expect(words).to_have_value(posting("Patience")[0])
    await page.context.set_offline(False)
    await page.get_by_role("button", name="发送").click()
    await expect(page.locator("article.message")).to_have_count(1)
    await expect(words).to_have_value("")


async def test_words_of_people_models_and_tools_are_shown_as_text_and_never_run(
    desk: Desk, browser: Browser, served_database: Address
) -> None:
    user = await desk.served.user(HOSTILE)
    page, client = await browser.page(user), await desk.served.client(user)
    proposal = await proposed(client, HOSTILE[:100])
    await review_of(page, desk, proposal)
    await edit_title(page, HOSTILE)
    await expect(page.locator(".notice.amended")).to_contain_text(SHOWN)
    await page.get_by_role("button", name="执行").click()
    await expect(page.locator("article.action .badge.committed")).to_have_count(3)
    await page.get_by_role("link", name="设置").click()
    await page.get_by_label("名称").fill(HOSTILE[:60])
    await page.get_by_role("button", name="新建令牌").click()
    await expect(page.locator(".secret")).to_be_visible()
    (job,) = (await client.get("/v1/jobs")).json()["items"]
    with psycopg.connect(served_database.admin_dsn()) as connection:
        order = "UPDATE job_posting SET url = 'javascript:alert(4)' WHERE id = %s"
        connection.execute(order, [UUID(job["id"])])
    file = {"file": (f"{SHOWN}.html", posting(HOSTILE[:90])[0].encode(), "text/html")}
    await client.post("/v1/messages", files=file)
    await proposed(client, HOSTILE[:80])
    run = await diagnosed(page, desk, f"{QUESTION} {HOSTILE}")
    places = ("/", "/conversation", "/settings", "/job", f"/job/{job['id']}", "/diagnosis", run)
    for path in (f"/review/{proposal['proposal']}", *places):
        await page.goto(desk.served.url + path)
        await expect(page.locator("main")).to_contain_text(SHOWN)
        planted = page.locator("main :is(img, script, [onerror], a[href^=javascript])")
        assert await planted.count() == 0, path


async def diagnosed(page: Page, desk: Desk, question: str) -> str:
    """Ask, wait for the answer, and give the path of its page."""
    await page.goto(f"{desk.served.url}/diagnosis")
    await page.get_by_label("出了什么问题").fill(question)
    await page.get_by_role("button", name="提问").click()
    await expect(page.locator(".answer .badge")).to_be_visible()
    return page.url.removeprefix(desk.served.url)


async def test_no_page_keeps_anybody_out(desk: Desk, browser: Browser) -> None:
    user = await desk.served.user()
    stranger = await browser.stranger()
    await stranger.goto(f"{desk.served.url}/sign-in")
    await expect(stranger.get_by_role("heading", level=1)).to_be_visible()
    faults = await serious_faults(stranger)

    page, client = await browser.page(user), await desk.served.client(user)
    await approved(client, await proposed(client, "Acme"))
    job = await stored(client)
    proposal = await proposed(client, "Larch")
    await client.post("/v1/tokens", json={"name": "cron", "scopes": ["read"], "days": 3})
    run = await diagnosed(page, desk, QUESTION)
    move = await client.post(f"/v1/applications/{job}/status", json={"status": "saved"})
    await approved(client, move.json())
    jobs = ("/job", f"/job/{job}", "/job/applications")
    for path in ("/", "/conversation", "/settings", *jobs, "/diagnosis", run, "/x"):
        await page.goto(desk.served.url + path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await expect(page.locator("main")).not_to_contain_text("加载中")
        faults += await serious_faults(page)
    await review_of(page, desk, proposal)
    faults += await serious_faults(page)
    await action(page, 2).get_by_role("button", name="修改").click()
    await expect(action(page, 2).get_by_label("职位名称")).to_be_visible()
    faults += await serious_faults(page)
    await edit_again(page)
    faults += await serious_faults(page)
    await page.goto(f"{desk.served.url}/job")
    await page.get_by_label("移到").first.select_option("applied")
    await expect(page.get_by_role("dialog")).to_be_visible()
    faults += await serious_faults(page)
    assert faults == []


async def edit_again(page: Page) -> None:
    await action(page, 2).get_by_label("职位名称").fill("Lead Engineer")
    await action(page, 2).get_by_role("button", name="查看新的效果").click()
    await expect(page.locator(".notice.amended")).to_be_visible()


async def stored(client: Any) -> str:
    async def ask() -> list[dict[str, Any]]:
        return (await client.get("/v1/jobs")).json()["items"]

    return (await until(ask, "a posting is stored"))[0]["id"]
