"""What secrets look like in lines that tools return: each pattern keeps what stands around it.

Every repetition is bounded or begins at a place that a longer text does not repeat, so that the
time grows with the length of the text and not with its square.
"""

from __future__ import annotations

import re

_WORDS = (
    r"password|passwd|passphrase|passcode|secret|token|credentials?|(?:api|access|secret|private"
    r"|encryption|signing|account|shared|master|session|license)[_ -]?key(?:[_-]?id)?|api[_-]?pass"
    r"|(?<=[a-z]_)pass|(?<![a-z])pass(?==)|(?<![a-z])(?-i:[pP]wd)|(?<=[a-z]_)pwd"
    r"|密码|口令|密钥|秘钥|令牌"
)
_ENDING = r"(?:[_-]?(?:\d{1,3}|prod|production|staging|dev|test|live|new|old|value|b64|base64))?"
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\\{1,3}\"[^\"\\\n]*\\{1,3}\""
_UNCLOSED = r"[\"'][^\n]*"
_PLAIN = r"(?:[^\s\"'`,;&(){}\[\]，。；、\\]|,(?=[^\s\"':=]{1,60}(?:[\s\"';&]|$)))+"

NAMED = re.compile(
    rf"(?i)(?P<before>(?P<word>{_WORDS}){_ENDING}(?:\\{{0,3}}[\"'`])?[ \t]{{0,40}}"
    rf"(?:=>|:=|[:=：＝]|(?<=[码令钥牌])[是为])[ \t]{{0,40}})"
    rf"(?P<value>{_QUOTED}|{_UNCLOSED}|{_PLAIN})"
)
"""`password: x`, `"token": "x"`, `DB_PASSWORD=x`, `?api_key=x`, `密码是 x`."""

FLAG = re.compile(
    rf"(?i)(?P<before>(?<!\S)--?[\w-]{{0,40}}?(?P<word>{_WORDS}){_ENDING}[ \t]{{1,8}})"
    rf"(?P<value>(?!-){_QUOTED}|(?!-){_PLAIN})"
)
"""`--password x` of a command line."""

QUERY = re.compile(
    r"(?i)(?P<before>[?&](?:sig|signature|key|auth|x-(?:amz|goog)-(?:signature|credential))=)"
    r"(?P<value>[^&\s\"'<>]{12,})"
)
"""Signatures and keys in the query of a link."""

AUTHORIZATION = re.compile(
    r"(?i)(?P<before>authorization(?:\\{0,3}[\"'])?[ \t]{0,8}[:=][ \t]{0,8}(?:\\{0,3}[\"'])?"
    r"(?:(?:bearer|basic|token|apikey|negotiate|ntlm)[ \t]{1,8})?)"
    r"(?P<value>(?:digest|aws4-hmac-sha256|hawk|oauth)[ \t][^\"'\n]+|[^\s\"'\\,;]{3,})"
)
BEARER = re.compile(r"(?i)(?P<before>\bbearer[ \t]{1,8})(?P<value>[\w.~+/=-]{8,})")
BASIC = re.compile(r"(?i)(?P<before>\bbasic[ \t]{1,8})(?P<value>[A-Za-z0-9+/]{8,}={0,2})")

COOKIE = re.compile(
    r"(?i)(?P<before>\b(?:set-)?cookie(?:\\{0,3}[\"'])?[ \t]{0,8}[:=][ \t]{0,8}(?:\\{0,3}[\"'])?)"
    r"(?P<value>[^\s\"'\\][^\"'\n\\]*=[^\"'\n\\]+)"
)

IN_URL = re.compile(
    r"(?P<before>://[^\s/:@\"'<>]{0,200}:)(?!\d{1,5}(?:[/?#\s\"']|$))"
    r"(?P<value>[^\s@\"'<>]{1,400}(?:@[^\s@/\"'<>]{1,200}(?=@))?)(?=@)"
)
"""The password of `scheme://user:password@host`; a port is none."""

USER_IN_URL = re.compile(r"(?P<before>://)(?P<value>[^\s/:@\"'<>]{16,400})(?=@)")

DSN = re.compile(
    r"(?P<before>(?<![\w/])[\w.-]{1,60}:)(?P<value>[^\s@:/\"']{1,200})(?=@(?:tcp|unix)\()"
    r"|(?P<before2>(?<=:thin:)[\w.-]{1,60}/)(?P<value2>[^\s@\"']{1,200})(?=@)"
)

COMMAND = re.compile(
    r"(?i)(?P<before>(?<!\S)(?:curl|wget)\b[^\n]{0,200}?[ \t](?:-u|--user)[ =][^\s:]{1,80}:"
    r"|\bmysql\w{0,12}\b[^\n]{0,200}?[ \t]-p|\bsshpass[ \t]{1,4}-p[ \t]{0,4})"
    r"(?P<value>(?!assword)[^\s\"'-][^\s\"']{2,})"
)

SQL = re.compile(r"(?i)(?P<before>\b(?:identified by|password)[ \t]{1,8})(?P<value>'[^'\n]+')")

PRIVATE_KEY = re.compile(
    r"(?s)(?P<before>-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----)(?P<value>.+?)"
    r"(?=-----END [A-Z0-9 ]{0,30}PRIVATE KEY-----|\Z)"
)

KNOWN = re.compile(
    r"(?<![\w-])(?:"
    r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"  # JSON web tokens
    r"|(?:AKIA|ASIA|AROA|AGPA)[0-9A-Z]{16}(?![0-9A-Z])"
    r"|(?:LTAI|AKID)[0-9A-Za-z]{12,40}"
    r"|AIza[\w-]{30,}"
    r"|ya29\.[\w-]{20,}"
    r"|gh[pousr]_[0-9A-Za-z]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}"
    r"|xox[abeprs]-[\w-]{10,}"
    r"|[srp]k_(?:live|test)_[0-9A-Za-z]{16,}|sk-(?:[a-z]{2,6}\d{0,2}-){0,2}\w{20,}"
    r"|(?:npm|hf|dop_v1|shpat)_[0-9A-Za-z]{30,}"
    r"|SG\.[\w-]{16,}\.[\w-]{16,}"
    r"|\$(?:2[aby]|apr1|[156y]|argon2i?d?)\$[^\s\"']{10,}"  # hashes of passwords
    r")"
)
"""Keys and tokens whose makers gave them a beginning of their own."""

KEY_BODY = re.compile(r"[ \t]*[A-Za-z0-9+/]{24,}={0,2}[ \t]*")
"""A line of nothing but base64, as the inside of a key file has them."""
