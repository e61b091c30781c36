"""From the bytes of a file to valid Unicode text, whatever charset they are written in."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter

from charset_normalizer import from_bytes

from alfred.errors import InputRefused

MAX_CHARS = 1_000_000
"""Longest text that becomes an input."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like UTF-16's, so it is asked first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_KINDS = (
    (b"%PDF-", "PDF document"),
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"BM\x00", "bitmap image"),
    (b"II*\x00", "TIFF image"),
    (b"MM\x00*", "TIFF image"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office document"),
    (b"{\\rtf", "RTF document"),
    (b"ID3", "MP3 recording"),
    (b"OggS", "Ogg recording"),
    (b"fLaC", "FLAC recording"),
    (b"#!AMR", "AMR recording"),
    (b"\x1f\x8b", "gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"Rar!\x1a", "RAR archive"),
    (b"\x7fELF", "program"),
    (b"SQLite format 3\x00", "SQLite database"),
)
_OFFICE = ((b"word/", "Word document"), (b"xl/", "Excel workbook"), (b"ppt/", "PowerPoint file"))
_CANDIDATES = ["gb18030", "big5", "cp1252"]
_NO_TEXT = frozenset({"Cc", "Cn", "Co"})
_NEWLINES = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSEEN = re.compile(
    "(\U0001f3f4[\U000e0030-\U000e007a]{1,8}\U000e007f)|[\U000e0000-\U000e007f]+"
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)
"""The first group, a flag, is kept."""
_ENOUGH_COMMON = 0.85
"""Share of common characters at which a Chinese charset is believed; the wrong one gives 0.6."""


def decode_text(content: bytes, *, declared: str | None = None) -> str:
    """Decode the bytes of a text file, in the charset they most likely are in.

    Asked in turn: a byte order mark, UTF-8, `declared` (an HTML page's own word), the Chinese
    charsets by their common characters, and charset-normalizer for what is left.
    Errors: `input.unsupported` for a file that is no text, naming its kind; `input.unreadable`
    where no charset fits; `input.too_large` before any work for what cannot fit the limit.
    """
    if kind := binary_kind(content):
        raise InputRefused(
            "input.unsupported",
            f"This is a {kind}, not text.",
            hint="Paste its words as text, or save it as .txt or .html.",
            kind=kind,
        )
    for mark, charset in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(charset, errors="replace")
    if wide := _unmarked_utf16(content):
        return content.decode(wide, errors="replace")
    text = _as_utf8(content)
    if text is None:
        text = _strictly(content, declared)
    if text is None:
        text = _detected(content)
    if text is None and declared:
        text = content.decode(declared, errors="replace")
    if text is None or _looks_binary(text):
        raise InputRefused(
            "input.unreadable",
            f"The {len(content):,} bytes are text in no charset that Alfred knows.",
            hint="Save the file as UTF-8 and try again.",
        )
    return text


def clean_text(text: str) -> str:
    """Make text valid Unicode without NUL, its line ends all `\\n`, nothing written in it unseen.

    A pair of surrogates becomes the character it stands for; NUL and a surrogate that stands
    alone become U+FFFD. Tag characters outside of flags, and variation selectors in a row, are
    left out: no reader sees them, but a model reads what they spell.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    seen = text if text.isascii() else _UNSEEN.sub(lambda found: found[1] or "", text)
    return _NEWLINES.sub("\n", seen.replace("\x00", "\ufffd").removeprefix("\ufeff"))


def check_size(content: bytes | str, *, max_chars: int = MAX_CHARS) -> None:
    """Refuse what is too long with `input.too_large`; bytes are counted at four a character."""
    in_bytes = isinstance(content, bytes)
    size, limit = len(content), 4 * max_chars if in_bytes else max_chars
    if size > limit:
        raise InputRefused(
            "input.too_large",
            f"The input has {size:,} {'bytes' if in_bytes else 'characters'};"
            f" at most {limit:,} can be read at once.",
            hint="Hand in only the part that matters, or split it.",
            size=size,
            limit=limit,
        )


def known_charset(name: str) -> str | None:
    """Translate the charset a page declares to Python's name for what browsers read it as."""
    name = name.strip().lower().replace("_", "-")
    if name in ("gb2312", "gbk", "gb18030", "x-gbk"):
        return "gb18030"
    if name in ("iso-8859-1", "latin1", "latin-1", "ascii", "us-ascii", "windows-1252"):
        return "cp1252"
    if name.startswith("windows-125") and name[8:].isdigit():
        return "cp" + name[8:]
    if name.startswith("iso-8859-") or name in ("koi8-r", "koi8-u", "shift-jis", "euc-jp"):
        return _if_codec(name)
    return {"big5": "big5hkscs", "euc-kr": "cp949", "sjis": "shift_jis", "utf-8": "utf-8"}.get(name)


def binary_kind(content: bytes) -> str | None:
    """Name the kind of a binary file by its first bytes; None for what may be text."""
    for magic, kind in _KINDS:
        if content.startswith(magic):
            return kind
    if content.startswith(b"PK\x03\x04"):
        head = content[:4096]
        return next((kind for part, kind in _OFFICE if part in head), "ZIP archive")
    if content.startswith(b"RIFF"):
        return "WebP image" if content[8:12] == b"WEBP" else "recording"
    if content[4:8] == b"ftyp":
        return "HEIC image" if content[8:11] in (b"hei", b"mif") else "MP4 recording"
    if b"multipart/related" in content[:2048] and b"MIME-Version:" in content[:2048]:
        return "MHTML archive"
    return None


def _if_codec(name: str) -> str | None:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


def _unmarked_utf16(content: bytes) -> str | None:
    head = content[:4096]
    if len(head) < 4 or len(content) % 2:
        return None
    # Latin text in UTF-16 has a NUL in every second byte, all on one side.
    low, high = head[0::2].count(0), head[1::2].count(0)
    if max(low, high) < 0.4 * (len(head) // 2) or min(low, high) > 0.05 * len(head):
        return None
    charset = "utf-16-be" if low > high else "utf-16-le"
    return None if _looks_binary(head.decode(charset, errors="replace")) else charset


def _as_utf8(content: bytes) -> str | None:
    text = content.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    if not broken:
        return text
    # A file cut inside a character is still UTF-8; in another charset nearly all would break.
    whole = sum(not char.isascii() for char in text) - broken
    return text if broken * 10 <= whole else None


def _strictly(content: bytes, charset: str | None) -> str | None:
    if charset is None:
        return None
    try:
        return content.decode(charset)
    except UnicodeDecodeError:
        return None


def _detected(content: bytes) -> str | None:
    for charset, simple, leads in (
        ("gb18030", "gb2312", range(0xB0, 0xD8)),
        ("big5hkscs", "big5", range(0xA4, 0xC7)),
    ):
        text = _strictly(content, charset)
        if text and _share_of_common(text, simple, leads) >= _ENOUGH_COMMON:
            return text
    best = from_bytes(content, cp_isolation=_CANDIDATES, enable_fallback=False).best()
    return str(best) if best else None


def _share_of_common(text: str, charset: str, leads: range) -> float:
    """Share of the characters beyond ASCII that belong to a charset's table of common ones."""
    wide = [char for char in text[:20_000] if not char.isascii() and not _is_punctuation(char)]
    encoded = (char.encode(charset, errors="ignore") for char in wide)
    return sum(bool(code) and code[0] in leads for code in encoded) / len(wide) if wide else 0.0


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PZS"


def _looks_binary(text: str) -> bool:
    head = text[:4096]
    plain = "\t\n\r\x0b\x0c\x1b"
    odd = sum(
        times
        for char, times in Counter(head).items()
        if unicodedata.category(char) in _NO_TEXT and char not in plain
    )
    return odd > max(8, 0.1 * len(head))
