"""What `extract_job` reads and trims without a model: headers of boards and threads, wording."""

from __future__ import annotations

from typing import Any

import pytest

from alfred.nodes.extract_job.doubts import drop_doubtful, is_no_posting
from alfred.nodes.extract_job.header import read_header
from alfred.nodes.extract_job.labels import read_labels
from alfred.nodes.extract_job.wording import as_worded

BODY = "\n\nWe build harvesting robots for vineyards in many places. You know Rust."


def facts(company: str, title: str, location: str) -> dict[str, str]:
    return {"company": company, "title": title, "location": location}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "Tarn Robotics (https://tarn.example) | Embedded Engineer | Leipzig, Germany | ONSITE",
            facts("Tarn Robotics", "Embedded Engineer", "Leipzig, Germany"),
        ),
        (
            "Pelican Ledger (YC S21) | Staff SRE | REMOTE (EU) | Full-time | €80k",
            facts("Pelican Ledger", "Staff SRE", "REMOTE (EU)"),
        ),
        (
            "Osprey & Vane | Lisbon or Remote | Staff Designer | jobs@osprey.example",
            facts("Osprey & Vane", "Staff Designer", "Lisbon or Remote"),
        ),
        (
            "quill.ai | Growth | Full-time | Turin or Remote | https://quill.example",
            facts("quill.ai", "Growth", "Turin or Remote"),
        ),
        (
            "Millrace | Backend Developer | TypeScript (React / Node) | Remote",
            facts("Millrace", "Backend Developer", "Remote"),
        ),
        (
            "石榴籽科技 | Rust 开发工程师 | 远程 | 全职",
            facts("石榴籽科技", "Rust 开发工程师", "远程"),
        ),
    ],
)
def test_a_hiring_threads_first_line_is_read_part_by_part(line: str, found: dict[str, str]) -> None:
    assert read_header(line + BODY) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        # two roles, two places: what is meant is not for code to decide
        ("Millrace | Backend Engineer | Data Engineer | Ghent | Oslo", {"company": "Millrace"}),
        ("Backend Engineer | Millrace | Ghent", {}),
        ("Home | Jobs", {}),
        ("We are hiring | see below | " + "very long " * 40, {}),
    ],
)
def test_what_has_more_than_one_reading_is_left_to_the_model(
    line: str, found: dict[str, str]
) -> None:
    assert read_header(line + BODY) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "木犀数据\n高级前端工程师（可视化方向）\n25k-40k /苏州 /经验3-5年 /本科\n职位：茶",
            facts("木犀数据", "高级前端工程师（可视化方向）", "苏州"),
        ),
        (
            "嵌入式软件工程师\n北冥云舟智能装备\n15-22K·13薪 | 合肥 | 3-5年 | 本科\n岗位职责",
            facts("北冥云舟智能装备", "嵌入式软件工程师", "合肥"),
        ),
        (
            # neither line names a role, so only the place is sure
            "木犀数据\n青藤计划\n25k-40k /苏州 /经验3-5年 /全职\n",
            {"location": "苏州"},
        ),
        (
            "有限元分析师\n软件开发设计有限公司\n25k-40k /苏州 /上海 /经验3-5年 /全职\n",
            {"company": "软件开发设计有限公司", "title": "有限元分析师"},
        ),
    ],
)
def test_a_boards_card_is_read_around_its_line_of_facts(text: str, found: dict[str, str]) -> None:
    assert read_header(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            f"Payroll Specialist\nMillrace Foods - Dayton, OH{BODY}",
            facts("Millrace Foods", "Payroll Specialist", "Dayton, OH"),
        ),
        (
            f"Audit Intern\nCarr - Wick & Sons · Brno - venkov, Moravia, Czechia{BODY}",
            facts("Carr - Wick & Sons", "Audit Intern", "Brno - venkov, Moravia, Czechia"),
        ),
        (
            f"Laboratory Technician\nHarrowgate Biologics\nCork, Ireland{BODY}",
            facts("Harrowgate Biologics", "Laboratory Technician", "Cork, Ireland"),
        ),
        (
            "Maschinenentwickler (m/w/d)\nKranwerk Engineering GmbH\nUlm\n52.000 - 61.000 €/Jahr\n",
            facts("Kranwerk Engineering GmbH", "Maschinenentwickler (m/w/d)", "Ulm"),
        ),
        ("The river rose.\nNobody slept - Ghent, Belgium\n\nIt was dark.", {}),
        ("Payroll Specialist\nMillrace Foods\nWe pack oats, barley and rye.\n", {}),
        ("Anna Ferro\nEngineer\nUlm, Germany\n\n", {}),
    ],
)
def test_a_title_with_company_and_place_below_it_is_read(text: str, found: dict[str, str]) -> None:
    assert read_header(text) == found


@pytest.mark.parametrize("text", ["", "\n\n", "x", "|", "| | |", "\ufeff", "a | b |", "·/|"])
def test_no_text_is_too_short_for_it(text: str) -> None:
    assert read_header(text) == {}


SOURCE = """Company: Alder Labs
Ulm, Germany
公司：青藤 科技，截至 2026 年 4 月 30 日
Alder Labs was founded in Ulm, Germany."""


@pytest.mark.parametrize(
    ("out", "worded"),
    [
        ({"company": "Company: alder  labs"}, {"company": "Alder Labs"}),
        ({"company": "公司：青藤科技"}, {"company": "青藤 科技"}),
        (
            {"company": "Alder Labs Ulm, Germany", "location": "Ulm, Germany"},
            {"company": "Alder Labs", "location": "Ulm, Germany"},
        ),
        (
            {"title": "Data Engineer in Ulm", "location": "Ulm"},
            {"title": "Data Engineer", "location": "Ulm"},
        ),
        ({"title": "An experienced Cook"}, {"title": "Cook"}),
        ({"deadline": "2026年4月30日"}, {"deadline": "2026 年 4 月 30 日"}),
        # a city alone is part of many a name, and nothing may be left but a preposition
        ({"company": "Alder Labs Ulm", "location": "Ulm"}, None),
        ({"company": "Bank of Ulm, Germany", "location": "Ulm, Germany"}, None),
        ({"company": "Birch Ulm, Germany", "location": "Ulm, Germany"}, None),
        ({"company": "Birch", "title": None, "requirements": []}, None),
    ],
)
def test_values_are_worded_as_the_source_words_them(
    out: dict[str, Any], worded: dict[str, Any] | None
) -> None:
    assert as_worded(out, SOURCE) == (out if worded is None else worded)


NOTHING = set[str]()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[远程] 石榴籽科技 招聘 Rust 开发工程师\n薪资：面议", ("石榴籽科技", "Rust 开发工程师")),
        ("【社招】青藤科技 公司诚聘 后端工程师 薪水 20k\n\n工作内容", ("青藤科技", "后端工程师")),
        (
            "Data Analyst at Harbour & Finch\n\nWe publish charts.",
            ("Harbour & Finch", "Data Analyst"),
        ),
        ("[成都] 诚聘 Golang 开发工程师\n", None),
        ("本公司招聘会计师\n", None),
        ("Data Analyst at Harbour & Finch\nand so on", None),
    ],
)
def test_a_headline_that_names_company_and_title_is_read(
    text: str, found: tuple[str, str] | None
) -> None:
    assert read_header(text) == (
        dict(zip(("company", "title"), found, strict=True)) if found else {}
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "> 岗位：仓储主管\n> 公司：平川物流\n> 工作地点：郑州。",
            facts("平川物流", "仓储主管", "郑州"),
        ),
        (
            "Posted by: Linden Staffing\nClient: Arden Dairies\n- **Title:** Fitter\nLocation: Ulm",
            facts("Arden Dairies", "Fitter", "Ulm"),
        ),
        # two postings: which of them is meant is not for code to decide
        ("Company: Alder\nTitle: Cook\n\nCompany: Alder\nTitle: Baker", {"company": "Alder"}),
        ("公司：我们是一家做地图的公司，成立于北京。\n地点：北京", {"location": "北京"}),
        ("Company: confidential\nTitle: Cook", {"title": "Cook"}),
        ("Location: Ulm", {}),
        ("The company: a history. Its location: unknown.", {}),
    ],
)
def test_labelled_lines_are_read_where_there_are_two(text: str, found: dict[str, str]) -> None:
    assert read_labels(text) == found


@pytest.mark.parametrize(
    ("out", "text", "dropped"),
    [
        (
            {"company": "Kestrel Recruiting", "title": "Actuary"},
            "Kestrel Recruiting is partnering with a leading insurer to find an Actuary.",
            {"company"},
        ),
        (
            {"company": "Kestrel Recruiting", "title": "Recruiter"},
            "Kestrel Recruiting is hiring a Recruiter.",
            NOTHING,
        ),
        ({"company": "诚聘会计", "title": "会计"}, "诚聘会计一名。", {"company"}),
        ({"company": "small bistro in Ghent"}, "A cook for a small bistro in Ghent.", {"company"}),
        ({"company": "quill"}, "quill is hiring a cook.", NOTHING),
        ({"company": "聘达科技", "title": "会计"}, "聘达科技招聘会计。", NOTHING),
        (
            {"title": "Cook", "deadline": "12 March"},
            "A talk on 12 March. We hire a Cook.",
            {"deadline"},
        ),
        ({"title": "Cook", "deadline": "12 March"}, "Apply by 12 March: Cook.", NOTHING),
        ({"title": "会计", "deadline": "3月底"}, "招聘会计，3月底前投递。", NOTHING),
    ],
)
def test_what_the_text_does_not_bear_is_dropped_and_said(
    out: dict[str, Any], text: str, dropped: set[str]
) -> None:
    kept, remarks = drop_doubtful(out, text)
    assert set(out) - set(kept) == dropped
    assert len(remarks) == bool(dropped)


@pytest.mark.parametrize(
    ("out", "text", "is_none"),
    [
        ({"title": "周会纪要"}, "周会纪要：支付模块推迟到下周。", True),
        ({"title": "周会纪要"}, "周会纪要：下周招两个人。", False),
        ({"title": "仓储主管"}, "仓储主管说货到了。", False),
        ({"company": "蓝鲸渔港", "title": "冷库启用"}, "蓝鲸渔港的冷库启用。", True),
        ({"company": "蓝鲸渔港"}, "蓝鲸渔港的冷库启用。", False),
    ],
)
def test_a_text_without_a_word_of_hiring_or_a_role_is_no_posting(
    out: dict[str, Any], text: str, is_none: bool
) -> None:
    assert is_no_posting(out, text) is is_none
