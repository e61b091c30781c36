from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alfred.engine.sandbox import Sandbox, WithVariables
from alfred.engine.template import ABSENT, MAX_TEXT_CHARS, Template, compile_template
from alfred.errors import ManifestInvalid, TemplateFailed

VARIABLES: dict[str, Any] = {
    "out": {
        "company": "1688",
        "title": "1e5",
        "count": 3,
        "rate": 100000.0,
        "remote": True,
        "items": [1, 2],
        "keys": "a field",
        "note": None,
        "rows": [{"kind": "skill", "text": "{{ 7*7 }}"}, {"kind": "degree"}],
    },
    "input": {"text": "hello", "language": "zh", "url": None},
}
FILTERS = {
    "shout": lambda text: f"{text}!",
    "nothing": lambda _: None,
    "spoken": WithVariables(
        lambda text, seen, mark="/": f"{text}{mark}{seen['input']['language']}"
    ),
}
SANDBOX = Sandbox(FILTERS)


def compiled(source: Any) -> Template:
    return compile_template(source, names=("out", "input"), sandbox=SANDBOX)


def rendered(source: Any) -> Any:
    return compiled(source).render(VARIABLES)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("{{ out.company }}", "1688"),
        ("{{ out.title }}", "1e5"),
        ("{{ out.count }}", 3),
        ("{{ out.rate }}", 100000.0),
        ("{{ out.remote }}", True),
        ("{{ out.items }}", [1, 2]),
        ("{{ out.keys }}", "a field"),
        ("{{ out['company'] }}", "1688"),
        ("{{ out.rows[-1].kind }}", "degree"),
        ("{{ [out.company, out.count] }}", ["1688", 3]),
        ("{{ out.rows | map(attribute='kind') }}", ["skill", "degree"]),
        ("{{ out.rows | selectattr('kind', 'equalto', 'degree') }}", [{"kind": "degree"}]),
        ("{{ 'x' | shout }}", "x!"),
        ("{{ out.company | spoken }}", "1688/zh"),
        ("{{ out.company | spoken(mark='-') }}", "1688-zh"),
        ("{{ '12' | int }}", 12),
        (7, 7),
        (False, False),
        ("plain", "plain"),
    ],
)
def test_a_lone_expression_keeps_the_type_of_its_value(source: Any, value: Any) -> None:
    result = rendered(source)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (" {{ out.count }}", " 3"),
        ("{{ out.company }}/{{ out.title }}", "1688/1e5"),
        ("{{ out.remote }} {{ out.items }}", "true [1, 2]"),
        ("{% for row in out.rows %}{{ loop.index }}{{ row.kind }};{% endfor %}", "1skill;2degree;"),
        ("{% if input.url is defined %}{{ input.url }}{% else %}none{% endif %}", "none"),
        ("{% set rows = out.rows %}{{ rows | length }} rows", "2 rows"),
    ],
)
def test_any_other_template_yields_text(source: str, text: str) -> None:
    assert rendered(source) == text


def test_data_is_never_rendered_as_a_template() -> None:
    assert rendered("{{ out.rows[0].text }}") == "{{ 7*7 }}"
    assert rendered("say: {{ out.rows[0].text }}") == "say: {{ 7*7 }}"


@given(st.text())
def test_any_text_comes_out_as_it_went_in(text: str) -> None:
    variables = {"out": {"a": text}, "input": {}}
    assert compiled("{{ out.a }}").render(variables) == text
    assert compiled("<{{ out.a }}>").render(variables) == f"<{text}>"


@pytest.mark.parametrize(
    "source",
    [
        "{{ out.absent }}",
        "{{ out.absent.deeper }}",
        "{{ out.note }}",
        "{{ out.note | upper }}",
        "{{ out.absent | shout }}",
        "{{ out.company | nothing }}",
        "{{ out.company | nothing | upper }}",
        "{{ 'yes' if out.absent else 'no' }}",
        "{{ out.absent == 'x' }}",
        "{{ out.absent ~ 'x' }}",
        "{{ out.absent or 'x' }}",
        "{{ [out.company, out.absent] }}",
        "{{ {'a': out.absent} }}",
        "{{ out.rows | map(attribute='text') }}",
        "{{ 'x' if out.absent is defined }}",
        "{{ 'three' | int }}",
        "about {{ out.absent }}",
        "about {{ out.note }}",
        "{{ none }}",
    ],
)
def test_an_expression_that_touches_an_absent_field_is_absent(source: str) -> None:
    assert rendered(source) is ABSENT


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("{{ out.absent | default('d') }}", "d"),
        ("{{ out.note | default('d') }}", "d"),
        ("{{ out.company | nothing | default('d') }}", "d"),
        ("{{ out.absent is defined }}", False),
    ],
)
def test_a_template_can_ask_whether_a_field_is_there(source: str, value: Any) -> None:
    assert rendered(source) == value


@pytest.mark.parametrize(
    "source",
    [
        "{{ out.__class__ }}",
        "{{ out.company.__class__.__mro__ }}",
        "{{ ''['__class__'] }}",
        "{{ out.company.upper }}",
        "{{ out.items.append }}",
        "{{ out | map(attribute='__class__') }}",
    ],
)
def test_attributes_of_objects_do_not_exist(source: str) -> None:
    assert rendered(source) is ABSENT


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ out.company.upper() }}", "calls"),
        ("{{ range(9) }}", "calls"),
        ("{{ lipsum() }}", "calls"),
        ("{% include 'x' %}", "include"),
        ("{% import 'x' as y %}", "import"),
        ("{% extends 'x' %}", "extends"),
        ("{% macro f() %}{% endmacro %}", "macro"),
        ("{% block b %}{% endblock %}", "block"),
        ("{{ 9 ** 9 }}", "pow"),
        (
            "{% for a in out %}{% for b in a %}{% for c in b %}{{ c }}" + "{% endfor %}" * 3,
            "2 loops",
        ),
        ("{{ out.company", "unexpected end"),
        ("{{ ot.company }}", "Did you mean 'out'?"),
        ("{{ self }}", "unknown name"),
        ("{{ out.company | shuot }}", "Did you mean 'shout'?"),
        ("{{ out.company is definde }}", "Did you mean 'defined'?"),
        ("{% for a in out.rows %}{{ loop.indx }}{% endfor %}", "Did you mean 'index'?"),
    ],
)
def test_a_template_that_cannot_work_is_refused_at_load(source: str, words: str) -> None:
    with pytest.raises(ManifestInvalid) as caught:
        compiled(source)
    assert caught.value.code == "manifest.template"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'x' * 1000000000 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ out.company * 3 }}",
        "{{ out.count / 0 }}",
        "{{ 1e308 * 10 }}",
        "{{ out.company + out.count }}",
    ],
)
def test_an_expression_that_fails_says_so_without_the_users_words(source: str) -> None:
    with pytest.raises(TemplateFailed) as caught:
        rendered(source)
    assert caught.value.code == "template.failed"
    assert "1688" not in str(caught.value)


def test_output_is_bounded() -> None:
    variables = {"out": {"rows": ["x" * 1000] * 3000}, "input": {}}
    with pytest.raises(TemplateFailed):
        compiled("{% for row in out.rows %}{{ row }}{% endfor %}").render(variables)
    assert MAX_TEXT_CHARS < 3_000_000


@pytest.mark.parametrize(
    ("source", "pointer", "pointers"),
    [
        ("{{ out.company }}", "/company", ("/company",)),
        ("{{ out.rows[1].kind }}", "/rows/1/kind", ("/rows/1/kind",)),
        ("{{ out['a/b~c'] }}", "/a~1b~0c", ("/a~1b~0c",)),
        ("{{ out }}", "", ("",)),
        ("{{ out.company | upper }}", None, ("/company",)),
        ("{{ out.company ~ out.title }}", None, ("/company", "/title")),
        ("at {{ out.company }}", None, ("/company",)),
        ("{{ out.rows[1:] }}", None, ("/rows",)),
        ("{{ (out.rows | first).kind }}", None, ("/rows",)),
        ("{% for row in out.rows %}{{ row.kind }}{% endfor %}", None, ("/rows",)),
        ("{{ input.text }}", None, ()),
        ("fixed", None, ()),
    ],
)
def test_a_template_names_the_parts_of_the_answer_it_uses(
    source: str, pointer: str | None, pointers: tuple[str, ...]
) -> None:
    template = compiled(source)
    assert template.pointer({"out": ""}) == pointer
    assert template.pointers({"out": ""}) == pointers


def test_a_loop_variable_points_into_its_item() -> None:
    template = compile_template("{{ row.kind }}", names=("row",), sandbox=SANDBOX)
    assert template.pointer({"out": "", "row": "/rows/3"}) == "/rows/3/kind"
    assert template.pointer({"out": ""}) is None


def test_a_path_yields_the_very_object_it_names() -> None:
    assert rendered("{{ out.rows }}") is VARIABLES["out"]["rows"]
    chosen = rendered("{{ out.rows | rejectattr('kind', 'equalto', 'skill') }}")
    assert chosen[0] is VARIABLES["out"]["rows"][1]
