"""Values that a small model gives where a posting states none; plain words of the text tell them.

Only what is certainly not meant is dropped, each time with a sentence: a value that is left out
becomes an empty input at review, while a wrong one that stands in the source looks right.
"""

from __future__ import annotations

import re
from typing import Any

from alfred.nodes.extract_job.header import names_a_role

_POSTING = re.compile(
    r"\b(?:hir(?:e|es|ing)|jobs?|vacanc(?:y|ies)|positions?|roles?|apply|applica(?:nts?|tions?)"
    r"|candidates?|recruit\w*|salary|cv|r[eé]sum[eé]|wanted|seek(?:s|ing)?|looking for|join us"
    r"|employer|requirements?|qualifications?|responsibilities|(?:full|part)[ -]time"
    r"|internship|openings?|stelle|bewerb\w*|poste|vagas?|we need|need an?)\b"
    r"|招|聘|岗位|职位|简历|任职|求职|薪|内推|实习|缺人|面试",
    re.IGNORECASE,
)
_AGENCY_AT_WORK = re.compile(
    r"\b(?:(?:our|my|the|a|confidential) client|on behalf of|partner(?:ing|ed)? with an?)\b"
    r"|客户(?:为|是|系)|(?:受|为).{0,12}(?:委托|客户)|代招|猎头|猎聘",
    re.IGNORECASE,
)
_AGENCY_NAME = re.compile(
    r"recruit|staffing|talent|headhunt|search partners|personnel|人力|猎头|人才|劳务|外包",
    re.IGNORECASE,
)
_HIRING_VERB = re.compile(r"^(?:现|急|诚|高薪)*(?:招聘|招募|聘请|诚聘|聘|招)[:：\s]*")
_DEADLINE = re.compile(
    r"\b(?:deadline|clos(?:e[sd]?|ing)|until|before|by|due|no later than|valid\s?through|expir\w+"
    r"|end of|last day|jusqu|bis|fin)\b|截[止至]|为止|之前|[日号天底末]\s?前|报名|网申|有效期|到期",
    re.IGNORECASE,
)


def is_no_posting(out: dict[str, Any], text: str) -> bool:
    """Say whether a text speaks of no hiring at all, and the title read from it is no role."""
    title = out.get("title")
    is_named = isinstance(title, str) and not names_a_role(title)
    return is_named and not _POSTING.search(text)


def drop_doubtful(out: dict[str, Any], text: str) -> tuple[dict[str, Any], list[str]]:
    """Leave out what the text does not bear; the sentences say what and why."""
    kept, remarks = dict(out), list[str]()
    company, deadline = kept.get("company"), kept.get("deadline")
    if isinstance(company, str) and (reason := _doubt_about_company(company, kept, text)):
        del kept["company"]
        remarks.append(f"The company “{company}” is left out: {reason}.")
    if isinstance(deadline, str) and not _DEADLINE.search(text):
        del kept["deadline"]
        remarks.append(f"“{deadline}” is left out: the text speaks of no deadline.")
    return kept, remarks


def _doubt_about_company(company: str, out: dict[str, Any], text: str) -> str:
    if _AGENCY_NAME.search(company) and _AGENCY_AT_WORK.search(text):
        return "an agency recruits for an employer that the text does not name"
    title = out.get("title")
    called = _HIRING_VERB.sub("", company)
    if isinstance(title, str) and called.casefold() in (title.casefold(), ""):
        return "it is the position"
    if company[:1].islower() and re.search(rf"\ban?\s+{re.escape(company)}\b", text, re.I):
        return "it describes a company and does not name it"
    return ""
