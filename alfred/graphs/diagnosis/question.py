"""What a question asks for: a diagnosis, small talk, a concept, or more than it says itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum


class QuestionKind(StrEnum):
    """What to do with a question."""

    DIAGNOSIS = "diagnosis"
    SMALL_TALK = "small_talk"
    CONCEPT = "concept"
    NO_CONTEXT = "no_context"


_SMALL_TALK = re.compile(
    r"(?i)^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks?(?: you| a lot)?|thx|bye"
    r"|goodbye|ok(?:ay)?|great|cool|who are you|what can you do|how are you(?: today)?|help"
    r"|你好|您好|嗨|谢谢|多谢|再见|好的|在吗|你是谁|你能做什么|你会什么|早上好|晚上好|辛苦了)"
    r"(?:[\s,，]+(?:alfred|there|all|everybody|大家))?\W*$"
)
_CONCEPT = re.compile(
    r"(?i)^\W*(?:what (?:is|are) (?:an? |the meaning of )?(?!wrong|happening|going|broken|the )"
    r"|what does .{1,60} mean|explain (?:the |what )?|how do(?:es)? (?:an? )?\w+(?: \w+)? work"
    r"|(?:what is )?the difference between|define )"
    r"|什么是|是什么意思|什么叫|解释一下|有什么区别|的原理"
)
_SYMPTOM = re.compile(
    r"(?i)\b(?:slow|latency|down|outage|error|errors|fail\w*|crash\w*|restart\w*|time ?outs?|timing"
    r"|timed|5\d\d|4\d\d|oom\w*|memory|cpu|disk|full|lag\w*|stuck|pending|unreachable|refus\w+"
    r"|leak\w*|spik\w+|drop\w*|broken|degraded|alert\w*|firing|high|healthy|unhealthy|reject\w*"
    r"|exhaust\w*|deadlock\w*|queue\w*|throttl\w*|expired?|certificate|wrong with)\b"
    r"|慢|超时|报错|错误|失败|崩溃|重启|宕机|挂了|不可用|告警|报警|延迟|卡住|打满|泄漏|内存|磁盘|异常"
    r"|抖动|拒绝|积压|过期|证书|健康|正常吗|故障"
)
_FOLLOW_UP = re.compile(
    r"(?i)^\W*(?:and|but|so|then|also|since when|why(?: is| was| did)? (?:it|that|this|they)"
    r"|what about|is it|was it|did it|which (?:one|of)|when did (?:it|that|this)|how long)\b"
    r"|^\W*(?:那么?|然后|还有|而且|为什么会这样|它|这个|从什么时候|什么时候开始的|哪一个|多久)"
)
_OTHER_LANGUAGE = re.compile(
    r"(?i)\b(?:warum|wieso|ist|langsam|nicht|und|seit|pourquoi|est-ce|lent|depuis|porque|por qué"
    r"|está|lento|desde|perché|почему|медленно|なぜ|どうして|왜)\b|[\u3040-\u30ff\uac00-\ud7af\u0400-\u04ff]"
)


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """What is known beside a question's words.

    `names` are the names of sources and services that the tools know.
    """

    scope: Mapping[str, str]
    names: Collection[str] = ()
    has_alerts: bool = False
    has_previous: bool = False


def kind_of(question: str, known: Circumstances) -> QuestionKind:
    """Judge a question by its words and what surrounds it, without a model.

    A question that names what to look at, or says what is wrong, is a diagnosis whatever else its
    words look like: what is asked needlessly costs less than what is not looked at.
    """
    if _SMALL_TALK.match(question):
        return QuestionKind.SMALL_TALK
    is_about_something = bool(known.scope) or bool(named_in(question, known.names))
    if _CONCEPT.search(question) and not is_about_something:
        return QuestionKind.CONCEPT
    if is_about_something or _SYMPTOM.search(question) or known.has_alerts:
        return QuestionKind.DIAGNOSIS
    if known.has_previous and is_follow_up(question):
        return QuestionKind.DIAGNOSIS
    return QuestionKind.NO_CONTEXT


def is_follow_up(question: str) -> bool:
    """Say whether a question leans on what was asked before."""
    return _FOLLOW_UP.search(question) is not None


def is_in_other_language(question: str) -> bool:
    """Say whether a question is in a language that answers are not written in."""
    return _OTHER_LANGUAGE.search(question) is not None


def named_in(question: str, names: Collection[str]) -> str | None:
    """Find the longest of some names that a question uses, as a word of its own."""
    for name in sorted(names, key=len, reverse=True):
        if re.search(rf"(?i)(?<![\w-]){re.escape(name)}(?![\w-])", question, re.ASCII):
            return name
    return None


_REPLIES: Mapping[QuestionKind, Mapping[str, str]] = {
    QuestionKind.SMALL_TALK: {
        "en": "Hello. Ask what is wrong with a running system, such as: why is checkout slow since"
        " 14:00? Every fact of the answer will be tied to evidence.",
        "zh": "你好。请直接问运行中的系统出了什么问题，例如：checkout 从 14:00 起为什么变慢？"
        "回答里的每个事实都会附上证据。",
    },
    QuestionKind.CONCEPT: {
        "en": "This asks about a concept, not about a running system: nothing was looked at."
        " Name the service or the symptom to start a diagnosis.",
        "zh": "这是概念问题，不涉及运行中的系统，因此没有开始诊断。请说出服务名或现象。",
    },
    QuestionKind.NO_CONTEXT: {
        "en": "The question does not say what to look at, and no alert is firing. Name a service or"
        " a symptom, and since when: alfred diagnose “why is … slow?” --since 2h --scope"
        " service=NAME.",
        "zh": "问题没有说明要看什么，目前也没有触发的告警。请说出服务名或现象以及开始时间，例如："
        "alfred diagnose “…为什么变慢？” --since 2h --scope service=名称。",
    },
}


def reply_to(kind: QuestionKind, language: str) -> str:
    """Answer what starts no diagnosis."""
    return _REPLIES[kind]["zh" if language == "zh" else "en"]
