"""Secrets are hidden, what is none stays, and no text takes long."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alfred.probes.masking import MASK, mask_lines, mask_secrets
from alfred.probes.probe import Finding, Window
from alfred.probes.tool_call import Kind
from alfred.probes.toolbox import Toolbox

LOGIN = base64.b64encode(b"ops:tulip-9").decode()
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJvcHMifQ.c2lnbmF0dXJlLW9mLWl0"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7tulip9Zk"

HIDDEN = [
    ("password=tulip9x ok", "tulip9x", "password=[secret] ok"),
    ("user=ops password='two words' host=db", "two words", "user=ops password='[secret]' host=db"),
    ("DB_PASSWORD:      tulip9x", "tulip9x", "DB_PASSWORD:      [secret]"),
    ('{"dbPassword": "tu,l:ip", "pool": 5}', "tu,l:ip", '{"dbPassword": "[secret]", "pool": 5}'),
    (r'{\"token\":\"tulip9x\",\"n\":1}', "tulip9x", r'{\"token\":\"[secret]\",\"n\":1}'),
    ('password="never closed', "never closed", 'password="[secret]'),
    ("password=a,b,c retries=3", "a,b,c", "password=[secret] retries=3"),
    ("api_token => tulip9x", "tulip9x", "api_token => [secret]"),
    ("CLIENT_SECRET_PROD=tulip9x", "tulip9x", "CLIENT_SECRET_PROD=[secret]"),
    ("AccountKey=dHVsaXA5eA==;x=1", "dHVsaXA5eA", "AccountKey=[secret];x=1"),
    ("aws_secret_access_key = tulip9xTULIP", "tulip9x", "aws_secret_access_key = [secret]"),
    ("Server=db;User Id=sa;Pwd=tulip9x;", "tulip9x", "Server=db;User Id=sa;Pwd=[secret];"),
    ("DB_PASS=tulip9x", "tulip9x", "DB_PASS=[secret]"),
    ("密码：tulip9x", "tulip9x", "密码：[secret]"),
    ("数据库口令是 tulip9x，已更换", "tulip9x", "数据库口令是 [secret]，已更换"),
    ("接口密钥=tulip9x", "tulip9x", "接口密钥=[secret]"),
    ("password: 123456", "123456", "password: [secret]"),
    ("GET /v1?api_key=tulip9x&page=2", "tulip9x", "GET /v1?api_key=[secret]&page=2"),
    ("GET /f?sig=AbCdEf123456789%3D&v=1", "AbCdEf", "GET /f?sig=[secret]&v=1"),
    ("backup --password tulip9x -v", "tulip9x", "backup --password [secret] -v"),
    ("mysql -h db -u ops -ptulip9x orders", "tulip9x", "mysql -h db -u ops -p[secret] orders"),
    ("curl -u ops:tulip9x http://a.test/", "tulip9x", "curl -u ops:[secret] http://a.test/"),
    ("ALTER ROLE ops PASSWORD 'tulip9x'", "tulip9x", "ALTER ROLE ops PASSWORD '[secret]'"),
    ("postgres://ops:tulip9x@db:5432/o", "tulip9x", "postgres://ops:[secret]@db:5432/o"),
    ("postgres://ops:tu/l@ip@db/o", "tu/l@ip", "postgres://ops:[secret]@db/o"),
    ("redis://:tulip9x@cache:6379", "tulip9x", "redis://:[secret]@cache:6379"),
    ("https://a1b2c3d4e5f6a7b8c9@git.test/x", "a1b2c3", "https://[secret]@git.test/x"),
    ("ops:tulip9x@tcp(db:3306)/orders", "tulip9x", "ops:[secret]@tcp(db:3306)/orders"),
    ("jdbc:oracle:thin:ops/tulip9x@//db", "tulip9x", "jdbc:oracle:thin:ops/[secret]@//db"),
    ("Authorization: Bearer abc.def n=1", "abc.def", "Authorization: Bearer [secret] n=1"),
    (f"authorization=Basic {LOGIN}", LOGIN, "authorization=Basic [secret]"),
    ('"Authorization": "tulip9x"', "tulip9x", '"Authorization": "[secret]"'),
    (f"sent basic {LOGIN} to proxy", LOGIN, "sent basic [secret] to proxy"),
    ("curl -H 'Cookie: sid=tulip9x; b=2' x", "tulip9x", "curl -H 'Cookie: [secret]' x"),
    ("Set-Cookie: sid=tulip9x; HttpOnly", "tulip9x", "Set-Cookie: [secret]"),
    (f"rejected {JWT} (expired)", JWT, "rejected [secret] (expired)"),
    ("id AKIAQ2W3E4R5T6Y7U8I9 used", "AKIAQ2W3E4R5T6Y7U8I9", "id [secret] used"),
    ("ghp_" + "a1B2" * 9, "a1B2", MASK),
    ("ops:$2b$12$abcdefghijklmnopqrstuv", "abcdefghij", "ops:[secret]"),
    (BODY, BODY, MASK),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret", "masked"), HIDDEN)
def test_a_secret_is_hidden_and_what_stands_around_it_stays(
    text: str, secret: str, masked: str
) -> None:
    assert secret in text
    assert mask_secrets(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        'http_requests_total{service="basket",code="500"} 1234',
        'password_reset_latency_seconds_bucket{le="0.5"} 12',
        "auth_token_refresh_total 35",
        "max_tokens=512 tokens: 4000 token_count=7",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 pool_size: 50 -> 5",
        "image basket@sha256:" + "3b" * 32,
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "3b" * 32,
        "run 550e8400-e29b-41d4-a716-446655440000 took 12.5 s",
        "token-issuer-7d9f8b6c54-x2xq9 restarted 3 times",
        "sk-worker-7d9f8b6c54-x2xq9 is Ready",
        "http://basket:8080/cart?email=a@b.test",
        "GET http://basket.test:8080/health 200 in 12ms",
        "login failed: password: incorrect",
        "Unexpected token: identifier at line 3",
        "invalid token: expired",
        "Bearer authentication failed",
        "Basic authentication is required",
        "DB_PASSWORD: <set to the key 'password' in secret 'db'>  Optional: false",
        "password=${DB_PASSWORD} token=$(cat f) secret={{ vault }}",
        '{"password": null, "token": ""}',
        "password=******",
        "PWD=/srv/basket",
        "12 passed, pass: 12 fail: 0",
        "密码错误，口令为空",
        "密码: 错误",
        "primary key: id, foreign key: order_id",
        "java.lang.NullPointerException2AtCheckoutServiceImpl",
        "/srv/Apps2/basket/releases/current/lib/Main2/Thing",
        "2026-03-02T14:01:09.123Z ERROR pool exhausted (5 of 5) after 30000ms",
        "mail ops@example.test about it",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert mask_secrets(text) == text


def test_a_private_key_is_hidden_over_several_lines() -> None:
    key = ["-----BEGIN RSA PRIVATE KEY-----", BODY, "c2hvcnQ", "-----END RSA PRIVATE KEY-----"]
    assert mask_lines(["a", *key, "b"]) == ["a", key[0], MASK, MASK, key[3], "b"]
    assert "c2hvcnQ" not in mask_secrets("\n".join(key))
    assert BODY not in mask_secrets(r"key: " + r"\n".join(key))


def test_a_private_key_that_is_cut_off_is_hidden_to_the_end() -> None:
    assert mask_lines(["-----BEGIN PRIVATE KEY-----", BODY, "tail"])[1:] == [MASK, MASK]
    assert "tail" not in mask_secrets(f"-----BEGIN PRIVATE KEY-----\n{BODY}\ntail")


PIECES = st.sampled_from(
    [text for text, _, _ in HIDDEN]
    + ["password", "token", "=", ":", " ", '"', "'", "\\", "@", "://", "&", "?", ",", ";", "\n"]
    + ["Bearer", "Cookie:", "authorization", "mysql -p", "eyJ", "密码", "是", "[secret]", "a", "9"]
    + ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "--", "(", "tcp(", "$2b$", "{"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_masking_twice_is_masking_once(text: str) -> None:
    assert mask_secrets(mask_secrets(text)) == mask_secrets(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text_can_be_masked(text: str) -> None:
    assert mask_secrets(mask_secrets(text)) == mask_secrets(text)


SECRET = st.text(alphabet="abcdefgXYZ0123456789_-.", min_size=6, max_size=30).filter(
    lambda t: t[0].isalnum() and any(c.isdigit() for c in t) and any(c.isalpha() for c in t)
)


@settings(max_examples=200, deadline=None)
@given(
    SECRET,
    st.sampled_from(
        [
            "password={}",
            'x "api_key": "{}" y',
            "https://ops:{}@db.test/x",
            "Authorization: Bearer {}",
            "DB_PASSWORD: {}",
            "run --password {}",
            "密码：{}",
        ]
    ),
)
def test_no_secret_of_any_shape_is_left(secret: str, template: str) -> None:
    assert secret not in mask_secrets(template.format(secret))


@pytest.mark.parametrize(
    "piece",
    [
        *("password=", "a.", "eyJ", "://a:", '"', "password='\\", "a,", "password=a,", "--token "),
        *("-----BEGIN PRIVATE KEY-----", "mysql ", "curl ", "a@", "cookie: a", "A1+", "sk-ab-"),
        *("authorization: digest ", " ", "x=", "password:          "),
    ],
)
def test_a_long_text_of_one_piece_ends(piece: str) -> None:
    text = piece * (300_000 // len(piece))  # what grew with the square would run for hours
    assert mask_secrets(text)


class KeyFile:
    """A probe that finds a key file among other lines."""

    name = "keys"
    kind: Kind = "logs"
    description = "A key file."
    parameters: Mapping[str, Any] = {"type": "object"}
    is_primary = True
    timeout_s = 1.0

    async def look(self, arguments: Mapping[str, Any], window: Window) -> Finding:
        lines = ("-----BEGIN PRIVATE KEY-----", BODY, "c2hvcnQ", "-----END PRIVATE KEY-----", "z")
        return Finding(asked=f"keys of {MASK} password=tulip9x", where="x", lines=lines)

    async def first_look(self, window: Window, scope: Mapping[str, str]) -> None:
        return None

    async def aclose(self) -> None:
        return None


async def test_a_call_keeps_nothing_of_a_key_file_and_no_secret_of_its_question() -> None:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    window = Window(start=now, end=now)
    arguments = {"url": "http://ops:tulip9x@db.test", "more": {"list": ["password=tulip9x", 5]}}
    call = await Toolbox([KeyFile()]).call("keys", arguments, window, [], round_=1)
    assert call["lines"][1:3] == [MASK, MASK]
    assert call["lines"][4] == "z"
    assert call["arguments"]["more"]["list"][1] == 5
    assert "tulip9x" not in str(call)
