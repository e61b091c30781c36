"""The words by which a user says that they want to apply, or did; "apply now" is none of them."""

from __future__ import annotations

import re

from alfred.engine.evidence import Span
from alfred.engine.skill_input import SkillInput

_NEAR = r"[^。！？!?\n没未不别]{0,12}?"
_APPLIED = re.compile(
    rf"我{_NEAR}(?:投了|投过|投递了|投递过|已投|已经投|申请了|申请过|已申请|已经申请)"
    r"|(?m:^)[^\S\n]*(?:已投递|已申请|已投)"
    r"|\bI(?:['’]ve|\shave)?(?:\sjust|\salready|\salso|\sfinally)*\s"
    r"(?:applied|submitted\s(?:my|an|the)\sapplication"
    r"|sent\s(?:in\s|off\s)?my\s(?:application|cv|résumé|resume))\b",
    re.IGNORECASE,
)
_APPLIES = re.compile(
    rf"我{_NEAR}(?:想|要|打算|准备|决定|考虑|计划)(?:去|来)?(?:投|申请|应聘)"
    r"|帮我(?:投|申请|应聘|准备(?:一份|一下)?(?:简历|申请))"
    r"|\bI(?:['’]d|['’]m|['’]ll|['’]ve|\swould|\sam|\swill|\shave)?"
    r"(?:\s(?:really|also|now|just|decided|want|like|love|plan|planning|going|intend|wish|hoping"
    r"|hope|to|will)){0,4}\sapply(?:ing)?\b"
    r"|\b(?:help|let)\sme\sapply\b|\bapply\s(?:for|to)\s(?:it|this)(?:\s\w+)?\sfor\sme\b",
    re.IGNORECASE,
)


def find_applied(given: SkillInput) -> Span | None:
    """Find where the user says that they have applied; a page's words are not the user's."""
    return _find(_APPLIED, given)


def find_intent(given: SkillInput) -> Span | None:
    """Find where the user says that they apply, want to, or have; as `find_applied`."""
    return find_applied(given) or _find(_APPLIES, given)


def _find(pattern: re.Pattern[str], given: SkillInput) -> Span | None:
    if given["modality"] == "link":
        return None
    found = pattern.search(given["text"])
    return {"start": found.start(), "end": found.end()} if found else None
