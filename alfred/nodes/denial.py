"""Whether words deny something, tell of a fault, or state a cause: what no number shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_DENIES = re.compile(
    r"\b(?:no|not|never|none|nothing|nobody|neither|nor|without|cannot|zero|absent|lacks?|empty"
    r"|missing|silent|stopped)\b|n't\b|没|未|无|不|零[个次条]",
    re.IGNORECASE,
)
_WELL = re.compile(
    r"\b(?:resolved|cleared|recovered|inactive|healthy|fine|normal(?:ly)?|quiet|ok|okay|clean|clear"
    r"|usual|ruled out|stable|idle)\b|恢复|正常|解除|健康|平稳|稳定|排除|空闲",
    re.IGNORECASE,
)
_NOUGHT = re.compile(r"(?<![\w.:\-])0(?:\.0+)?%?(?![\w.:])", re.ASCII)
_LATER = re.compile(
    r"\b(?:after|afterwards|further|more|again|other|another|else|longer)\b"
    r"|再|之后|此后|以后|其他|其它",
    re.IGNORECASE,
)
_FAULTS = tuple(
    re.compile(rf"(?<![A-Za-z0-9_])(?:{english})(?![A-Za-z0-9_])|{chinese}", re.IGNORECASE)
    for english, chinese in (
        ("errors?", "错误|报错"),
        ("fail(?:s|ed|ing|ures?)?", "失败"),
        (r"tim(?:ed|ing|es?)?[ -]?outs?", "超时"),
        ("restart(?:s|ed|ing)?", "重启"),
        ("crash(?:es|ed|ing)?|crashloopbackoff", "崩溃"),
        ("oom|oomkilled|out of memory", "内存不足"),
        (r"\w*exceptions?", "异常"),
        ("panic(?:s|ked)?", "恐慌"),
        ("reject(?:s|ed|ions?)?|refused", "拒绝"),
        ("expire[sd]?", "过期"),
        ("deploy(?:s|ed|ments?)?|rollouts?|releases?", "发布|部署|上线"),
        ("chang(?:e|es|ed)", "变更"),
        ("evict(?:ed|ions?)?", "驱逐"),
        ("unavailable", "不可用"),
    )
)
_ACUTE = re.compile(
    r"\b(?:firing|fires|timed out|time-?outs?|crash(?:es|ed|ing)?|OOMKilled|out of memory|panic"
    r"|panicked|fatal|refused|unavailable|failing|exhausted)\b|告警|触发|崩溃|超时|不可用|耗尽|失败",
    re.IGNORECASE,
)
_NO_ALERT = re.compile(
    r"\b(?:no|not any|none of|zero|without|nor|nothing|neither)\b[^.;]{0,40}?"
    r"\b(?:alerts?|fir(?:es?|ing|ed))\b"
    r"|\balerts?\b[^.;]{0,60}?\b(?:not|never|resolved|cleared|inactive|silent|quiet|none)\b"
    r"|\balerts?\b[^.;]{0,40}n't\b|\b(?:alerts?|alerting)\b[^.;]{0,20}\b(?:is|are) (?:all )?clear\b"
    r"|\b(?:not|never|n't|no longer|stopped)\s+fir(?:es?|ing|ed)\b"
    r"|(?:没有?|无|未见?|零个?|不存在)[^。；]{0,12}(?:告警|报警|警报)"
    r"|(?:告警|报警|警报)[^。；]{0,12}(?:没有?|未|无|不再|解除|恢复)",
    re.IGNORECASE,
)
_ALERT_FIRES = re.compile(
    r"\balert(?:s|ing)?\b[^.;]{0,80}?\b(?:fir(?:es?|ed|ing)|active|triggered|raised)\b"
    r"|\b(?:firing|active|triggered|raised)\b[^.;]{0,40}?\balerts?\b"
    r"|(?:告警|报警|警报)[^。；]{0,40}?(?:触发|激活|发出|响)"
    r"|(?:触发|激活|发出)[^。；]{0,20}?(?:告警|报警|警报)",
    re.IGNORECASE,
)
_ALERT_FIRST = re.compile(
    r"^\W*(?:(?:there|is|are|was|were|the|an?|some|several|multiple|following|critical|\d+)\s+)*"
    r"(?:(?:firing|active|raised|triggered)\s+)?alerts?\b"
    r"|^(?:目前|当前)?(?:有|存在)?[^，。；]{0,12}(?:告警|报警|警报)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;,](?:\s|$)|[。；，]|\b(?:and|but|while|although)\b|但|而且|并且")
_SUBJECT = re.compile(
    r"\b(?:for|on|of|in|about)\s+(?:the\s+|any\s+)?(?P<of>[A-Za-z][\w.\-]{2,})"
    r"|(?P<grade>\b(?:critical|warning|page|severe)\b)|(?P<name>[A-Za-z][\w.]*[-_][\w.\-]+)"
    r"|(?P<camel>\b[A-Z]+[a-z]+[A-Z]\w*)|(?<=[^\x00-\x7f])\s?(?P<after>[A-Za-z][\w.\-]{2,})"
    r"|(?P<before>[A-Za-z][\w.\-]{2,})\s?(?=[^\x00-\x7f])",
    re.ASCII,
)
_NO_SUBJECT = frozenset(
    (
        *("all", "alerts", "any", "fact", "incident", "its", "moment", "question", "service"),
        *("system", "that", "the", "them", "these", "this", "those", "time", "window", "utc"),
    )
)
_CAUSAL = re.compile(
    r"\b(?:because|due to|caus(?:e|es|ed|ing|al)|root[- ]cause|as a result|led to|leads? to"
    r"|result(?:s|ed|ing)? (?:of|from|in)|leading to|trigger(?:s|ed|ing)? by|triggered|owing to"
    r"|thanks to|responsible for|blame|culprit|stems? from|therefore|hence|consequently|so that"
    r"|why|broke|broken by|brought\b[^.;]{0,40}?\b(?:down|about|on)|took (?:down|out)|takes down"
    r"|explains?|explained by|is behind|was behind|at fault|is the reason|the reason for"
    r"|origin of|source of the|provok(?:es?|ed|ing)|induc(?:es?|ed|ing)|contribut(?:es?|ed|ing) to"
    r"|attribut(?:able|ed) to|traced (?:back )?to|comes? from|came from|introduced by|is what)\b"
    r"|\b(?:made|makes|making)\b[^.;]{0,60}?"
    r"\b(?:slow\w*|fail\w*|crash\w*|hang|wait|unavailable|time out)\b"
    r"|由于|因为|导致|引起|引发|造成|致使|根因|根本原因|原因|源于|归因|所以|因此|从而|罪魁"
    r"|诱发|触发了|使得|拖垮|拖慢|搞坏|弄坏|起因|元凶|祸首|归咎|源自|来自于|害得|促使|以致",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:likely|probabl[ey]|possibl[ey]|may|might|could|perhaps|suspect(?:ed|s)?|suggests?|seems?"
    r"|appears?|hypothes[ie]s|not (?:established|proven|confirmed))\b"
    r"|可能|疑似|或许|也许|大概|推测|怀疑|尚未证实",
    re.IGNORECASE,
)


def denies(words: str) -> bool:
    """Say whether words say that something is not, or that all is well."""
    return bool(_DENIES.search(words) or _WELL.search(words))


def says_absent(words: str) -> bool:
    """Say whether words say that something is not."""
    return bool(_DENIES.search(words))


def tells_of_alert(words: str) -> bool:
    """Say whether words say of an alert that it fires, maybe among other things."""
    return bool(_ALERT_FIRES.search(words))


def tells_of_alert_alone(words: str) -> bool:
    """Say whether words begin with an alert that fires, and name nothing that made it fire."""
    return bool(tells_of_alert(words) and _ALERT_FIRST.search(words) and not states_cause(words))


def is_hedged(words: str) -> bool:
    """Say whether words call what they say only likely."""
    return bool(_HEDGED.search(words))


def states_cause(words: str, lines: Iterable[str] = ()) -> bool:
    """Say whether words state a cause of their own; what a line says word for word is none."""
    given = " ".join(lines).casefold()
    return any(found[0].casefold() not in given for found in _CAUSAL.finditer(words))


def tells_of_fault(words: str) -> bool:
    """Say whether words tell of something acute, and do not deny it."""
    return bool(_ACUTE.search(words)) and not denies(words) and not _NOUGHT.search(words)


def denies_alerts(words: str, firing: Sequence[str]) -> bool:
    """Say whether words deny that alerts fire while these lines show that they do.

    Words about something that none of the lines names may be true.
    """
    shown = "\n".join(firing).casefold()
    for clause in _CLAUSE.split(words) if firing else ():
        found = (match[0] for match in _SUBJECT.finditer(clause))
        subjects = {each.casefold().split()[-1].strip(".-") for each in found} - _NO_SUBJECT
        is_shown = not subjects or any(each in shown for each in subjects)
        if _NO_ALERT.search(clause) and is_shown:
            return True
    return False


def denies_what_stands(words: str, lines: Sequence[str]) -> bool:
    """Say whether words deny a fault that a line shows, and that no word limits to later."""
    if not _DENIES.search(words) or _LATER.search(words):
        return False
    denied = [fault for fault in _FAULTS if _is_denied(fault, words)]
    return any(
        fault.search(line) and not _DENIES.search(line) and not _NOUGHT.search(line)
        for fault in denied
        for line in lines
    )


def _is_denied(fault: re.Pattern[str], words: str) -> bool:
    """Say whether the denial stands close before the fault: `no new errors`, `did not restart`."""
    return any(
        _DENIES.search(re.split(r"[.;,。；，]", words[: found.start()])[-1][-30:])
        for found in fault.finditer(words)
    )


def turns_round(words: str, facts: Sequence[str], lines: Sequence[str]) -> bool:
    """Say whether a sentence denies what its facts say, or says what all of them deny.

    A denial that stands in a cited line itself is no turn, as in "no space left".
    """
    if denies(words):
        return not any(map(denies, facts)) and not any(
            denies(line) or _NOUGHT.search(line) for line in (*facts, *lines)
        )
    return bool(facts) and all(_DENIES.search(fact) for fact in facts) and not _NOUGHT.search(words)
