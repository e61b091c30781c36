"""Loads a node.yaml: every mistake is found here, all of a file together, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import jsonschema_rs
from pydantic import ValidationError

from alfred.engine.answer import AnswerValidator
from alfred.engine.answer_schema import schema_mistakes
from alfred.engine.manifest import (
    ActionEntry,
    ActionTemplate,
    Compiled,
    KindSignature,
    Manifest,
    Prompt,
)
from alfred.engine.manifest_field import field_mistakes
from alfred.engine.mistake import Mistake, did_you_mean, field_path, found_type, refusal
from alfred.engine.sandbox import Filter, Sandbox
from alfred.engine.schema_place import SchemaPlace, complaint, place_of
from alfred.engine.skill_input import SkillInput
from alfred.engine.state import Memory
from alfred.engine.template import Template, compile_template
from alfred.engine.yaml_text import read_yaml
from alfred.errors import ManifestInvalid

FILE_NAME = "node.yaml"

_ANYTHING = SchemaPlace({}, (), is_open=True)
_NOTHING = compile_template("", names={}, sandbox=Sandbox({}))
"""The messages of a step that asks no model."""


def _record(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {} for name in fields}}


PROMPT_PLACES: Mapping[str, SchemaPlace] = MappingProxyType(
    {
        "input": place_of(_record(SkillInput.__annotations__)),
        "memory_context": place_of({"type": "array", "items": _record(Memory.__annotations__)}),
        "extracted": _ANYTHING,
        "gathered": _ANYTHING,
    }
)
"""The variables of a prompt: the state's, and `gathered`, what the node's entry looked up.

Actions have these too, and `out`, the answer.
"""


def load_manifest(
    folder: Path,
    kinds: Mapping[str, KindSignature],
    filters: Mapping[str, Filter] = MappingProxyType({}),
) -> Manifest:
    """Load the node.yaml of a node's folder, with its templates and its validator compiled.

    `kinds` are the registered kinds of actions by name, `filters` the domain's template filters.
    Errors: `ManifestInvalid`; `details["problems"]` lists every mistake of the file.
    """
    file = f"{folder.parent.name}/{folder.name}/{FILE_NAME}"
    document = read_yaml(_read(folder / FILE_NAME, file))
    if document.value is None:
        raise refusal(file, document.mistakes or [Mistake(field="", message="the file is empty.")])
    loading = _Loading(kinds, Sandbox(filters), list(document.mistakes))
    manifest = loading.load(document.value, folder.name)
    if manifest is None or loading.mistakes:
        lines = {field_path(steps): line for steps, line in document.lines.items()}
        placed = [replace(m, line=m.line or lines.get(m.field)) for m in loading.mistakes]
        raise refusal(file, sorted(placed, key=lambda m: m.line or 0))
    return manifest


def _read(path: Path, file: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as exc:
        raise ManifestInvalid("manifest.missing", f"{file} does not exist.", file=file) from exc
    except UnicodeDecodeError as exc:
        message = f"{file} is not UTF-8 (byte {exc.start})."
        hint = "Save it as UTF-8."
        raise ManifestInvalid("manifest.unreadable", message, hint=hint, file=file) from exc
    except OSError as exc:
        message = f"{file} cannot be read: {exc.strerror}."
        raise ManifestInvalid("manifest.unreadable", message, file=file) from exc


@dataclass
class _Loading:
    kinds: Mapping[str, KindSignature]
    sandbox: Sandbox
    mistakes: list[Mistake] = field(default_factory=list[Mistake])

    def load(self, raw: Any, folder_name: str) -> Manifest | None:
        if not isinstance(raw, dict):
            self._add("", f"expected fields such as name and prompt, found {found_type(raw)}.")
            return None
        fields = cast(dict[str, Any], raw)
        manifest = self._model(fields)
        name = fields.get("name")
        if isinstance(name, str) and name != folder_name:
            self._add("name", f"'{name}' differs from the folder's name '{folder_name}'.")
        out = self._schema("output_schema", fields)
        read = self._schema("input_schema", fields)
        places = {**PROMPT_PLACES, "input": read} if "input_schema" in fields else PROMPT_PLACES
        prompt = self._prompt(fields.get("prompt"), places)
        if fields.get("prompt") is None and (fields.get("actions") or "input_schema" not in fields):
            self._add("prompt", "is missing.")
        actions = self._actions(fields.get("actions"), out)
        if manifest is None or self.mistakes:
            return None
        read_schema = manifest.input_schema
        compiled = Compiled(
            system=prompt.get("system", _NOTHING),
            user=prompt.get("user", _NOTHING),
            actions=tuple(actions),
            answers=AnswerValidator(manifest.output_schema),
            inputs=jsonschema_rs.validator_for(read_schema, offline=True) if read_schema else None,
        )
        return manifest.with_compiled(compiled)

    def _add(
        self, place: str, message: str, hint: str = "", code: str = "manifest.invalid"
    ) -> None:
        self.mistakes.append(Mistake(field=place, message=message, hint=hint, code=code))

    def _model(self, fields: dict[str, Any]) -> Manifest | None:
        try:
            # Through JSON, where strict means JSON's own types and lists may become tuples.
            return Manifest.model_validate_json(json.dumps(fields))
        except ValidationError as exc:
            known = {mistake.field for mistake in self.mistakes}
            self.mistakes.extend(m for m in field_mistakes(exc) if m.field not in known)
            return None

    def _schema(self, name: str, fields: Mapping[str, Any]) -> SchemaPlace:
        schema = fields.get(name)
        if not isinstance(schema, dict):
            return _ANYTHING
        known = cast(dict[str, Any], schema)
        found = schema_mistakes(known)
        for mistake in found:
            separator = "." if mistake.field else ""
            self.mistakes.append(replace(mistake, field=f"{name}{separator}{mistake.field}"))
        return _ANYTHING if found else place_of(known)

    def _prompt(self, raw: Any, places: Mapping[str, SchemaPlace]) -> dict[str, Template]:
        compiled: dict[str, Template] = {}
        if isinstance(raw, dict):
            for name, text in cast(dict[str, Any], raw).items():
                if name in Prompt.model_fields and isinstance(text, str):
                    template = self._template(f"prompt.{name}", text, places)
                    if template is not None:
                        compiled[name] = template
        return compiled

    def _template(
        self, place: str, source: Any, places: Mapping[str, SchemaPlace]
    ) -> Template | None:
        try:
            template = compile_template(source, names=places, sandbox=self.sandbox)
        except ManifestInvalid as exc:
            self._add(place, exc.message, exc.hint, exc.code)
            return None
        for path in template.paths:
            if found := complaint(places[path.root], path.root, path.steps):
                self._add(place, *found, code="manifest.template")
        return template

    def _actions(self, raw: Any, out: SchemaPlace) -> list[ActionTemplate]:
        compiled: list[ActionTemplate] = []
        for index, entry in enumerate(cast(list[Any], raw) if isinstance(raw, list) else []):
            try:
                action = ActionEntry.model_validate_json(json.dumps(entry))
            except ValidationError:
                continue  # already reported with the whole manifest
            self._check_kind(f"actions[{index}]", action)
            compiled.append(self._action(f"actions[{index}]", action, out))
        return compiled

    def _check_kind(self, place: str, action: ActionEntry) -> None:
        kind = self.kinds.get(action.kind)
        code = "manifest.action"
        if kind is None:
            hint = did_you_mean(action.kind, self.kinds)
            self._add(f"{place}.kind", f"no action kind '{action.kind}'.", hint, code)
            return
        if kind.is_automatic:
            message = f"'{action.kind}' is recorded automatically and never proposed."
            self._add(f"{place}.kind", message, "Name a kind that a person reviews.", code)
        for name in action.args:
            if name not in kind.argument_names:
                message = f"'{action.kind}' has no argument '{name}'."
                hint = did_you_mean(name, kind.argument_names)
                self._add(f"{place}.args.{name}", message, hint, code)
        for name in sorted(kind.required_arguments - kind.reference_arguments - set(action.args)):
            self._add(f"{place}.args", f"'{action.kind}' needs the argument '{name}'.", code=code)

    def _action(self, place: str, action: ActionEntry, out: SchemaPlace) -> ActionTemplate:
        places = {**PROMPT_PLACES, "out": out}
        for_each = None
        if action.for_each is not None:
            for_each = self._template(f"{place}.for_each", action.for_each, places)
        item = self._item(f"{place}.for_each", for_each, places)
        if action.as_ is None and action.for_each is not None:
            self._add(f"{place}.as", "for_each without as.", "Name each item, as in 'as: item'.")
        elif action.as_ is not None and action.for_each is None:
            self._add(f"{place}.as", "as without for_each.", "Add for_each, or remove as.")
        elif action.as_ in places or action.as_ in ("loop", "true", "false", "none", "self"):
            self._add(f"{place}.as", f"'{action.as_}' already has a meaning.", "Use another name.")
        elif action.as_ is not None:
            places[action.as_] = item
        args: dict[str, Template] = {}
        for name, source in action.args.items():
            template = self._template(f"{place}.args.{name}", source, places)
            if template is not None:
                args[name] = template
        return ActionTemplate(kind=action.kind, args=args, for_each=for_each, variable=action.as_)

    def _item(
        self, place: str, for_each: Template | None, places: Mapping[str, SchemaPlace]
    ) -> SchemaPlace:
        """Find what an item of a `for_each` is; anything, where that is computed."""
        if for_each is None:
            return _ANYTHING
        if for_each.kind != "expression":
            self._add(place, "expected one {{ expression }} that yields a list.")
            return _ANYTHING
        path = for_each.mentions.items
        if path is None or complaint(places[path.root], path.root, path.steps):
            return _ANYTHING
        here = places[path.root].follow(path.steps)
        item = here.item() if here else None
        if item is None:
            self._add(place, f"{for_each.source} is no list in the schema.")
        return item or _ANYTHING
