"""Which of Alfred's two languages a text mostly is."""

from __future__ import annotations

import re
from typing import Literal

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD = re.compile("[A-Za-zÀ-ɏ]+")
_HAN_PER_WORD = 1.5
"""Chinese writes a word with one to two characters, so characters are weighed against words."""


def detect_language(text: str) -> Literal["zh", "en"]:
    """Say `zh` where Chinese words outnumber Latin ones, else `en`.

    A Chinese text stays Chinese with its English product names, and a Chinese line above an
    English text does not make that Chinese. Text without either is `en`.
    """
    han = len(_HAN.findall(text))
    return "zh" if han and han >= _HAN_PER_WORD * len(_WORD.findall(text)) else "en"
