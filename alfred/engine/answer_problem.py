"""What is wrong with a model's answer, in words that a model can act on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Rule = Literal[
    "truncated", "refused", "empty", "fenced", "syntax", "trailing", "size", "not_object",
    "duplicate", "number", "characters", "type", "enum", "required", "closed", "limit", "repeated",
    "placeholder", "other",
]  # fmt: skip

_SENTENCES: dict[Rule, tuple[str, str]] = {
    "truncated": ("the answer was cut off", "回答被截断"),
    "refused": ("no answer was given", "没有给出回答"),
    "empty": ("the answer is empty", "回答为空"),
    "fenced": ("a code fence stands around the JSON", "JSON 外面有代码块标记"),
    "syntax": ("not valid JSON", "不是合法的 JSON"),
    "trailing": ("more text follows the JSON object", "JSON 对象之后还有别的文字"),
    "size": ("too long or nested too deeply", "过长或嵌套过深"),
    "not_object": ("expected one JSON object", "应为一个 JSON 对象"),
    "duplicate": ("the field is given twice", "字段重复"),
    "number": ("expected a finite number of at most 64 bits", "应为不超过 64 位的有限数"),
    "characters": (
        "contains NUL or half of a surrogate pair",
        "包含 NUL 或不成对的代理字符",
    ),
    "type": ("expected {}", "应为 {}"),
    "enum": ("expected one of: {}", "应为以下之一：{}"),
    "required": ("the field {} is missing", "缺少字段 {}"),
    "closed": ("only these fields are allowed: {}", "只允许这些字段：{}"),
    "limit": ("must keep to {}", "必须符合 {}"),
    "repeated": ("repeats an earlier item", "与前面的项重复"),
    "placeholder": ("a placeholder stands for the value", "用占位符代替了值"),
    "other": ("breaks the schema's rule {}", "不符合 schema 的规则 {}"),
}
_NOTE = {
    "en": (
        "The last answer cannot be used: {}. Answer again with one complete JSON object and "
        "nothing else. Copy values word for word from the source; give null for what it does "
        "not state."
    ),
    "zh": (
        "上一次的回答无法使用：{}。请重新回答，只给出一个完整的 JSON 对象。"
        "值要从原文逐字复制；原文没有说明的给 null。"
    ),
}
_MAX_LISTED = 8
_MAX_POINTER_CHARS = 120


@dataclass(frozen=True)
class AnswerProblem:
    """One problem: the JSON pointer of the value (`""` is the whole answer) and the rule it breaks.

    `wanted` completes the rule's sentence: types, choices, a limit. It comes from the schema,
    never from the answer.
    """

    pointer: str
    rule: Rule
    wanted: str = ""

    @property
    def message(self) -> str:
        return self.sentence("en")

    def sentence(self, language: str) -> str:
        """Say it in `zh` or, for any other language, in English."""
        english, chinese = _SENTENCES[self.rule]
        return (chinese if language == "zh" else english).format(self.wanted)


def repair_note(problems: Sequence[AnswerProblem], language: str) -> str:
    """Ask a model to answer again: where it was wrong and what was expected.

    Quotes nothing of the broken answer but the names of its fields, since a model repeats what it
    reads.
    """
    listed = [
        f"{problem.pointer[:_MAX_POINTER_CHARS]}: {problem.sentence(language)}".removeprefix(": ")
        for problem in problems[:_MAX_LISTED]
    ]
    chinese = language == "zh"
    return _NOTE["zh" if chinese else "en"].format(("；" if chinese else "; ").join(listed))
