from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from alfred.engine.manifest import Manifest
from alfred.engine.manifest_file import load_manifest
from alfred.engine.template import ABSENT
from alfred.engine.yaml_text import read_yaml
from alfred.errors import GraphInvalid, ManifestInvalid

SPECIFIED = Path(__file__).parent / "manifests" / "extract_job"


@dataclass(frozen=True)
class Signature:
    argument_names: frozenset[str]
    required_arguments: frozenset[str]
    reference_arguments: frozenset[str] = field(default=frozenset())
    is_automatic: bool = False


KINDS = {
    "upsert_company": Signature(frozenset({"name"}), frozenset({"name"})),
    "upsert_job_posting": Signature(
        frozenset({"title", "location", "company_name"}), frozenset({"title", "company_name"})
    ),
    "link_requirement": Signature(
        frozenset({"posting", "kind", "text", "importance"}),
        frozenset({"posting", "kind", "text"}),
        frozenset({"posting"}),
    ),
}

NODE = """\
name: read_note
domain: notes
version: 1
description: Reads a note
match:
  keywords: [note, 笔记]
prompt:
  system: Read the note.
  user: "{{ input.text }}"
output_schema:
  type: object
  properties:
    company: { type: string }
    rows:
      type: array
      items: { $ref: "#/$defs/row" }
    either:
      anyOf: [{ type: object, properties: { deep: { type: string } } }, { type: "null" }]
    free: { type: object }
  required: [company]
  $defs:
    row: { type: object, properties: { kind: { type: string } } }
actions:
  - kind: upsert_company
    args: { name: "{{ out.company }}" }
"""

Load = Callable[[str], Manifest]
Refuse = Callable[[str], ManifestInvalid]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def write_and_load(text: str) -> Manifest:
        folder = tmp_path / "nodes" / "read_note"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "node.yaml").write_text(text, encoding="utf-8")
        return load_manifest(folder, KINDS)

    return write_and_load


@pytest.fixture
def refuse(load: Load) -> Refuse:
    def load_and_catch(text: str) -> ManifestInvalid:
        with pytest.raises(ManifestInvalid) as caught:
            load(text)
        return caught.value

    return load_and_catch


def changed(old: str, new: str) -> str:
    assert old in NODE
    return NODE.replace(old, new, 1)


def test_the_specifications_node_loads_as_it_stands() -> None:
    manifest = load_manifest(SPECIFIED, KINDS)
    assert (manifest.name, manifest.domain, manifest.version) == ("extract_job", "job", 1)
    assert manifest.match.keywords == ("职位", "招聘", "jd", "hiring", "校招", "社招")
    assert manifest.match.modalities == ("text", "link")
    assert manifest.chunking.strategy == "by_section"
    assert manifest.output_schema["required"] == ["company", "title"]
    assert [action.kind for action in manifest.compiled.actions] == list(KINDS)


def test_the_specifications_actions_render_with_their_types() -> None:
    compiled = load_manifest(SPECIFIED, KINDS).compiled
    out = {"company": "1688", "requirements": [{"kind": "skill", "text": "{{ 1 }}"}]}
    company, posting, link = compiled.actions
    assert company.args["name"].render({"out": out}) == "1688"
    assert posting.args["location"].render({"out": out}) is ABSENT
    assert link.for_each is not None
    assert link.for_each.pointer({"out": ""}) == "/requirements"
    assert link.variable == "req"
    item = link.for_each.render({"out": out})[0]
    assert link.args["text"].render({"out": out, "req": item}) == "{{ 1 }}"
    assert compiled.user.render({"input": {"text": "a posting"}}) == "a posting"


def test_the_message_names_file_field_and_remedy(refuse: Refuse) -> None:
    error = refuse(changed("keywords:", "priorty: 9\n  keywords:"))
    assert str(error) == (
        "manifest.invalid: nodes/read_note/node.yaml, match.priorty: unknown field. "
        "Did you mean 'priority'?"
    )


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("version: 1", "verison: 1", "invalid verison", "Did you mean 'version'?"),
        ("version: 1", "version: '1'", "invalid version", "expected a whole number, found text"),
        ("version: 1", "version: 0", "invalid version", "greater than or equal to 1"),
        ("version: 1", "version: 1\nversion: 2", "invalid version", "given twice"),
        ("domain: notes", "domain:", "invalid domain", "expected text, found nothing"),
        ("domain: notes", "domain: No Tes", "invalid domain", "is no name"),
        ("[note, 笔记]", "[no, on]", "invalid match.keywords[1]", "found a boolean; quote it"),
        ("[note, 笔记]", "[true]", "invalid match.keywords[0]", "found a boolean; quote it"),
        ("[note, 笔记]", "[2026]", "invalid match.keywords[0]", "found a number; quote it"),
        ("[note, 笔记]", "[2026-01-31]", "invalid match.keywords[0]", "found a date; quote it"),
        ("[note, 笔记]", "note", "invalid match.keywords", "expected a list, found text"),
        ("[note, 笔记]", "['']", "invalid match.keywords[0]", "is empty"),
        (
            "  keywords",
            "  modalities: [smell]\n  keywords",
            "invalid match.modalities[0]",
            "'text'",
        ),
        ("match:\n", "chunking: {enabled: true}\nmatch:\n", "invalid chunking", "by_section"),
        ("match:\n", "chunking: {strategy: fixed}\nmatch:\n", "invalid chunking", "max_chars"),
        ("read_note", "reed_note", "invalid name", "folder's name 'read_note'"),
        ("  user: ", "  usr: ", "invalid prompt.usr", "Did you mean 'user'?"),
        ("{{ input.text }}", "{{ input.txt }}", "template prompt.user", "Did you mean 'text'?"),
        ("{{ input.text }}", "{{ out.company }}", "template prompt.user", "unknown name 'out'"),
        ("{{ input.text }}", "{{ input.text", "template prompt.user", "unexpected end"),
        ("out.company", "out.compny", "template args.name", "Did you mean 'company'?"),
        ("out.company", "out.company.name", "template args.name", "has no fields"),
        ("out.company", "out.rows.kind", "template args.name", "has no fields"),
        ("out.company", "out.rows[0].knd", "template args.name", "'out.rows[0].knd'"),
        ("out.company", "out.either.dep", "template args.name", "'deep'"),
        ("out.company", "out.company[0]", "template args.name", "is no list"),
        (
            "{{ out.company }}",
            "{{ out.rows | map(attribute='knd') | join }}",
            "template args.name",
            "Did you mean 'kind'?",
        ),
        ("upsert_company", "upsert_compnay", "action actions[0].kind", "'upsert_company'?"),
        ('name: "{{ o', 'nam: "{{ o', "action actions[0].args.nam", "Did you mean 'name'?"),
        ('{ name: "{{ out.company }}" }', "{}", "action actions[0].args", "needs the argument"),
        ('"{{ out.company }}"', "[a]", "invalid args.name", "expected text, a number"),
        ("type: string", "type: strin", "schema output_schema.properties.company", "'string'"),
        ("type: object", "type: array", "schema output_schema.type", "expected object"),
        ("properties:", "propertes:", "schema output_schema.propertes", "'properties'?"),
        ("#/$defs/row", "#/$defs/raw", "schema rows.items.$ref", "leads nowhere"),
        ("#/$defs/row", "https://x.example/s", "schema rows.items.$ref", "out of the file"),
        ("[company]", "[compny]", "schema output_schema.required[0]", "Did you mean 'company'?"),
    ],
)
def test_a_mistake_is_found_at_load(
    refuse: Refuse, old: str, new: str, where: str, words: str
) -> None:
    code, place = where.split()
    error = refuse(changed(old, new))
    problems = error.details["problems"]
    assert any(
        problem["code"] == f"manifest.{code}"
        and place in problem["field"]
        and words in f"{problem['message']} {problem['hint']}"
        for problem in problems
    ), str(error)
    assert words in str(error)


@pytest.mark.parametrize(
    ("action", "place", "words"),
    [
        ("for_each: '{{ out.company }}', as: row", "actions[1].for_each", "is no list"),
        ("for_each: '{{ out.rosw }}', as: row", "actions[1].for_each", "Did you mean 'rows'?"),
        ("for_each: 'all {{ out.rows }}', as: row", "actions[1].for_each", "expected one"),
        ("for_each: '{{ out.rows }}'", "actions[1].as", "for_each without as"),
        ("as: row", "actions[1].as", "as without for_each"),
        ("for_each: '{{ out.rows }}', as: out", "actions[1].as", "already has a meaning"),
        (
            "for_each: '{{ out.rows }}', as: row, args: {name: '{{ row.knd }}'}",
            "args.name",
            "'kind'?",
        ),
        (
            "for_each: '{{ out.rows }}', as: row, args: {name: '{{ rw.kind }}'}",
            "args.name",
            "'row'?",
        ),
        (
            "for_each: '{{ out.rows | selectattr(\"kind\") }}', as: row, "
            "args: {name: '{{ row.knd }}'}",
            "args.name",
            "Did you mean 'kind'?",
        ),
    ],
)
def test_a_loop_must_fit_the_schema(refuse: Refuse, action: str, place: str, words: str) -> None:
    error = refuse(f"{NODE}  - {{ kind: upsert_company, {action} }}\n")
    found = [p for p in error.details["problems"] if place in p["field"]]
    assert any(words in f"{problem['message']} {problem['hint']}" for problem in found), str(error)


@pytest.mark.parametrize(
    "expression",
    [
        "out.rows[0].kind",
        "out.either.deep",
        "out.free.anything.at.all",
        "out.rows | map(attribute='kind') | join(', ')",
        "(out.rows | first).kind",
        "extracted.other_node.title",
        "gathered.what_the_entry_found",
        "memory_context | length",
        "out.company | default(input.url)",
    ],
)
def test_a_path_that_the_schema_has_is_accepted(load: Load, expression: str) -> None:
    load(changed("{{ out.company }}", f"{{{{ {expression} }}}}"))


def test_an_argument_that_is_bound_implicitly_is_not_missing(load: Load) -> None:
    load(f"{NODE}  - kind: link_requirement\n    args: {{ kind: skill, text: x }}\n")


def test_all_mistakes_of_a_file_are_reported_together(refuse: Refuse) -> None:
    text = changed("version: 1", "verison: 1").replace("out.company", "out.compny")
    text = text.replace("type: string", "type: strin", 1).replace("[note, 笔记]", "[no]")
    error = refuse(text.replace("{{ input.text }}", "{{ input.txt }}"))
    fields = [problem["field"] for problem in error.details["problems"]]
    assert fields == [
        "version",
        "verison",
        "match.keywords[0]",
        "prompt.user",
        "output_schema.properties.company.type",
    ]
    assert [problem["line"] for problem in error.details["problems"]][1:] == [3, 6, 9, 13]
    assert error.code == "manifest.invalid"
    assert "node.yaml has 5 mistakes:\n  version: is missing." in str(error)


def test_a_field_of_a_broken_schema_is_not_called_missing_as_well(refuse: Refuse) -> None:
    error = refuse(changed("type: string", "type: strin").replace("out.company", "out.x"))
    assert len(error.details["problems"]) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1,\nb: 2\n", "line"),
        ("", "empty"),
        ("# nothing\n", "empty"),
        ("- a\n- b\n", "found a list"),
        ("just words", "found text"),
        ("name: a\n---\nname: b\n", "another document"),
        ("name: \x07", "control characters"),
        ("a: &x 1\nb: *x\n", "alias"),
        ("a: !!python/object/apply:os.getcwd []\n", "a"),
        ("[" * 3000, "nesting"),
        ("a: " + "[" * 60 + "]" * 60, "nested"),
        ("name: " + "x" * 300_000, "characters"),
    ],
)
def test_what_is_no_plain_yaml_is_refused(refuse: Refuse, text: str, words: str) -> None:
    assert words in str(refuse(text))


def test_a_file_that_is_not_utf8_or_not_there_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "read_note"
    with pytest.raises(ManifestInvalid) as caught:
        load_manifest(folder, KINDS)
    assert caught.value.code == "manifest.missing"
    folder.mkdir()
    (folder / "node.yaml").write_bytes("name: 笔记".encode("gb18030"))
    with pytest.raises(ManifestInvalid) as caught:
        load_manifest(folder, KINDS)
    assert caught.value.code == "manifest.unreadable"
    assert "UTF-8" in str(caught.value)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "read_note" / "node.yaml").mkdir(parents=True)
    with pytest.raises(ManifestInvalid, match="cannot be read"):
        load_manifest(tmp_path / "read_note", KINDS)


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off", "017", "1_000", "1:30", ".inf", "="])
def test_words_that_yaml_versions_read_differently_must_be_quoted(word: str) -> None:
    assert read_yaml(f"a: {word}").mistakes
    quoted = read_yaml(f"a: '{word}'")
    assert quoted.value == {"a": word}
    assert not quoted.mistakes


def test_plain_yaml_is_read_as_everyone_reads_it() -> None:
    text = SPECIFIED.joinpath("node.yaml").read_text(encoding="utf-8")
    assert read_yaml(text).value == yaml.safe_load(text)


def test_the_digest_ignores_layout_and_follows_content(load: Load) -> None:
    first = load(NODE).digest
    assert load("# a comment\n" + NODE.replace("version: 1", "version:   1")).digest == first
    moved = changed("domain: notes\n", "").replace("match:", "domain: notes\nmatch:")
    assert load(moved).digest == first
    assert load(changed("Read the note.", "Read the note!")).digest != first
    assert load(changed("version: 1", "version: 2")).digest != first
    swapped = changed("    free: { type: object }\n", "").replace(
        "    company: {", "    free: { type: object }\n    company: {"
    )
    assert load(swapped).digest != first


def test_the_digest_is_the_same_in_every_process() -> None:
    digest = load_manifest(SPECIFIED, KINDS).digest
    assert digest == "51bee16dcf03ea4a5b1717a24d9a6633f5a8d4e7f182176dd27fbe4b2d858a07"


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / "extract_job"
    shutil.copytree(SPECIFIED, folder)
    content = (folder / "node.yaml").read_bytes()
    (folder / "node.yaml").write_bytes(b"\xef\xbb\xbf" + content)
    assert load_manifest(folder, KINDS) == load_manifest(SPECIFIED, KINDS)


def test_a_manifest_cannot_be_changed() -> None:
    manifest = load_manifest(SPECIFIED, KINDS)
    with pytest.raises(ValueError, match="frozen"):
        manifest.version = 2  # type: ignore[misc]


STEP = (
    NODE[: NODE.index("match:")]
    + """\
input_schema:
  type: object
  properties: { question: { type: string } }
  required: [question]
output_schema: { type: object, properties: { plan: { type: string } } }
"""
)


def test_a_step_with_an_input_schema_needs_no_prompt(load: Load) -> None:
    manifest = load(STEP)
    assert manifest.prompt is None
    manifest.check_input({"question": "why?"})
    with pytest.raises(GraphInvalid) as caught:
        manifest.check_input({"question": 3})
    assert str(caught.value) == (
        'graph.input: read_note was given question: 3 is not of type "string".'
    )


def test_a_steps_prompt_may_name_only_what_it_reads(load: Load, refuse: Refuse) -> None:
    asked = STEP + "prompt: { system: Plan., user: '{{ input.question }}' }\n"
    given = {"input": {"question": "why?"}}
    assert load(asked).compiled.user.render(given) == "why?"
    assert "Did you mean 'question'?" in str(refuse(asked.replace("input.q", "input.qu")))


def test_a_prompt_is_missing_where_there_is_no_input_schema_or_actions_rest_on_it(
    refuse: Refuse,
) -> None:
    without = NODE[: NODE.index("prompt:")] + NODE[NODE.index("output_schema:") :]
    assert "prompt: is missing." in str(refuse(without))
    acting = STEP + NODE[NODE.index("actions:") :].replace("out.company", "out.plan")
    assert "prompt: is missing." in str(refuse(acting))


def test_a_broken_input_schema_is_found_at_load(refuse: Refuse) -> None:
    broken = STEP.replace("{ type: string } }\n  required", "{ type: strin } }\n  required")
    assert "input_schema.properties.question.type: 'strin' is no type" in str(refuse(broken))


def test_a_step_without_an_input_schema_takes_any_view(load: Load) -> None:
    load(NODE).check_input({"anything": 1})
