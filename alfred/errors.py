"""Every error Alfred raises, as one tree.

    AlfredError
    ├── SettingsInvalid      settings.*    an ALFRED_* variable is unknown or has a wrong value
    ├── ManifestInvalid      manifest.*    a node.yaml, found at load
    ├── TemplateFailed       template.*    an expression could not be evaluated
    ├── GraphInvalid         graph.*       `alfred check` found an unbounded or unsafe graph
    ├── LoopExhausted        graph.*       a loop ran out of its declared budget
    ├── InputRefused         input.*       what the user gave cannot be read
    ├── ModelFailed          model.*       the model is missing, down, slow, or answers badly
    │   └── AnswerInvalid    model.*       the answer breaks the schema after all repairs; text kept
    ├── ProbeFailed          probe.*       a tool that looks at a running system cannot answer
    ├── StoreFailed          store.*       PostgreSQL is not there, full, too old, not migrated
    ├── QueueRefused         queue.*       what should be done later cannot wait
    ├── ActionRefused        action.*      a service refuses what an action asks for
    ├── EvaluationRefused    eval.*        cases or stored runs of an evaluation cannot be used
    ├── ReviewRefused        review.*      a decision that the ledger does not accept
    ├── AccessRefused        access.*      who asks the server is not known, or may not do that
    ├── RequestRefused       request.*     a request to the server that it does not take
    └── ServerFailed         server.*      the server met what nobody thought of

A message says what happened, with the values; `hint` says what to do. `code` is stable: it is what
programs match on, `docs/errors.md` lists every one, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class AlfredError(Exception):
    """An error with a stable code, a sentence for people and a hint what to do."""

    codes: ClassVar[Mapping[str, str]] = {}

    def __init__(self, code: str, message: str, *, hint: str = "", **details: Any) -> None:
        if code not in self.codes:
            raise ValueError(f"{type(self).__name__} has no code {code!r}; declare it in errors.py")
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}"
        return f"{text} {self.hint}" if self.hint else text

    def __reduce__(self) -> Any:
        return (_rebuild, (type(self), self.code, self.message, self.hint, self.details))


def _rebuild(
    cls: type[AlfredError], code: str, message: str, hint: str, details: dict[str, Any]
) -> AlfredError:
    return cls(code, message, hint=hint, **details)


class SettingsInvalid(AlfredError):
    """An environment variable is unknown or has a value that cannot be used."""

    codes = {
        "settings.unknown": "An ALFRED_* variable has a name that Alfred does not know.",
        "settings.invalid": "An ALFRED_* variable has a value that cannot be used.",
    }


class ManifestInvalid(AlfredError):
    """A node.yaml cannot be loaded; the message names file, field and remedy."""

    codes = {
        "manifest.missing": "No node of that name exists.",
        "manifest.unreadable": "The file is not valid YAML or not UTF-8.",
        "manifest.invalid": "A field is unknown, missing or has a wrong value.",
        "manifest.schema": "`output_schema` or `input_schema` is not a valid JSON Schema.",
        "manifest.template": "A template does not compile or names what does not exist.",
        "manifest.action": "An action names an unknown kind or argument.",
        "manifest.domain": "A package's domain cannot be loaded beside the others.",
    }


class TemplateFailed(AlfredError):
    """A template's expression could not be evaluated against an answer."""

    codes = {"template.failed": "An expression of a node.yaml failed on a model's answer."}


class GraphInvalid(AlfredError):
    """A graph is unbounded, has an unmapped route, or reaches a write without review."""

    codes = {
        "graph.invalid": "A graph failed the checks of `alfred check`.",
        "graph.port": "A step's own code is missing or returned what it may not write.",
        "graph.input": "A step was given what does not fit its `input_schema`.",
        "graph.event": "The events of a run are not those of a path through its graph.",
    }


class LoopExhausted(AlfredError):
    """A loop asked for one more round than its budget declares."""

    codes = {"graph.budget": "A loop ran out of its declared budget."}


class InputRefused(AlfredError):
    """The input cannot be read or fetched; the words are stored all the same, if there are any."""

    codes = {
        "input.empty": "There is no text.",
        "input.no_words": "There are characters, but no words.",
        "input.too_large": "The input is larger than the limit.",
        "input.unreadable": "The file cannot be opened or decoded.",
        "input.unsupported": "This kind of input is not supported yet.",
        "input.unmatched": "No node of any domain recognises the input.",
        "input.unknown_domain": "No installed domain has that name.",
        "input.address": "The link is not one that can be fetched.",
        "input.private_address": "The link leads to an address that is not public.",
        "input.dns": "The link's host has no known address.",
        "input.unreachable": "The site cannot be reached, or broke off.",
        "input.timeout": "The site took too long.",
        "input.tls": "The site cannot be reached safely.",
        "input.redirects": "The link redirects without an end.",
        "input.robots": "The site asks programs not to fetch the page.",
        "input.login": "The site shows the page only after a login.",
        "input.forbidden": "The site does not hand the page out.",
        "input.not_found": "The site has no such page.",
        "input.site_busy": "The site is overloaded or broken.",
        "input.site_refused": "The site answered with an error.",
        "input.needs_browser": "The page shows its content only in a browser.",
        "input.alert": "What was posted is not a notification of alerts.",
    }
    RETRYABLE: ClassVar[frozenset[str]] = frozenset(
        {"input.dns", "input.unreachable", "input.timeout", "input.site_busy"}
    )

    @property
    def retryable(self) -> bool:
        """Whether the same link may be fetched later."""
        return self.code in self.RETRYABLE


class ModelFailed(AlfredError):
    """A model could not answer. `retryable` says whether the same call may succeed later."""

    codes = {
        "model.unknown": "ALFRED_MODEL names no model that Alfred knows how to reach.",
        "model.missing": "The embedded model's file is not on this machine.",
        "model.corrupt": "A model file does not have the published hash.",
        "model.download": "A model file could not be downloaded.",
        "model.not_installed": "The package that runs embedded models is not installed.",
        "model.no_key": "The provider needs a key, and none that can be used is set.",
        "model.unreachable": "The model's server cannot be reached.",
        "model.timeout": "The model did not answer in time.",
        "model.overloaded": "The model's server is overloaded or limits the rate.",
        "model.refused": "The model's server refused the request.",
        "model.truncated": "The answer was cut off at the token limit.",
        "model.invalid_output": "The answer breaks the schema after all repairs.",
        "model.not_scripted": "A scripted or recorded model has no answer for this call.",
    }
    RETRYABLE: ClassVar[frozenset[str]] = frozenset(
        {"model.unreachable", "model.timeout", "model.overloaded"}
    )

    @property
    def retryable(self) -> bool:
        return self.code in self.RETRYABLE


class AnswerInvalid(ModelFailed):
    """The answer breaks the schema after every repair; `details["raw"]` keeps the text."""


class ProbeFailed(AlfredError):
    """A read-only tool could not look at its source."""

    codes = {
        "probe.unreachable": "The source of a tool does not answer.",
        "probe.answer": "What a source answered is not in its own language.",
        "probe.refused": "A tool was asked for what it must not do.",
        "probe.query": "A tool asked its source for something that the source does not know.",
        "probe.too_much": "A source answered with more than a tool may read.",
        "probe.settings": "The file that lists the tools has a mistake.",
        "probe.recording": "The recorded calls of a case cannot be read.",
    }


class StoreFailed(AlfredError):
    """PostgreSQL is not there, cannot be used, or refuses the statement."""

    codes = {
        "store.unreachable": "The database does not answer at its address.",
        "store.authentication": "The database refuses the login.",
        "store.url": "ALFRED_DATABASE_URL is not a PostgreSQL URL.",
        "store.start": "The embedded server could not be started.",
        "store.version": "The data directory or the server has a version Alfred cannot use.",
        "store.pgvector": "The server has no pgvector extension.",
        "store.privilege": "The login may not do what was asked of it.",
        "store.encoding": "The database stores text in another encoding than UTF-8.",
        "store.disk_full": "The disk is full; nothing was written.",
        "store.not_migrated": "The database's schema is older or newer than this Alfred.",
        "store.busy": "Another process holds the lock for too long.",
        "store.fenced": "Another worker has taken the run over; this one writes nothing.",
        "store.dump": "The dump or restore failed.",
        "store.embedded_only": "The command works on the embedded server only.",
        "store.platform": "The embedded server is not available on this platform.",
    }


class QueueRefused(AlfredError):
    """What was to be done later cannot wait; nothing was stored."""

    codes = {
        "queue.full": "Too many of the user's texts wait to be read.",
    }


class ActionRefused(AlfredError):
    """A service refuses an action: an unknown reference, a forbidden state change."""

    codes = {
        "action.unknown_kind": "No domain registers that kind of action.",
        "action.reference": "An action refers to a row or action that does not exist.",
        "action.arguments": "The arguments do not fit the kind's model.",
        "action.state": "The state machine does not allow that change.",
        "action.conflict": "A row the action needs is hidden or held by another.",
        "action.unsupported_line": "A résumé line rests on no fact.",
        "action.automatic": "An automatic kind was proposed as if a person reviewed it.",
        "action.not_automatic": "A kind that a person reviews was to be recorded without a review.",
        "action.append_only": "An automatic kind tried more than to add rows to its own tables.",
    }


class ReviewRefused(AlfredError):
    """The ledger does not accept a decision; nothing was written."""

    codes = {
        "review.unknown": "No such proposal for this user.",
        "review.unknown_action": "The proposal has no such action.",
        "review.closed": "The proposal is finished.",
        "review.expired": "The proposal's time ran out.",
        "review.conflict": "The action was already decided differently.",
        "review.stale": "The rows changed since the preview; the new effect is shown.",
        "review.changed": "The effects differ from those the decision saw.",
        "review.edit": "An edited value does not fit the action.",
        "review.kind": "An edit may not change the action's kind.",
        "review.incomplete": "A required value is still empty.",
        "review.undecided": "Some actions are not decided yet.",
        "review.words": "A correction has no words, too many, or some that can't be stored.",
        "review.uncorrectable": "The proposal can't be corrected in words, or not any more.",
        "review.outdated": "An action's kind is gone or does not take its arguments any more.",
        "review.paused_elsewhere": "The graph's pause no longer exists under its name.",
    }


class EvaluationRefused(AlfredError):
    """An evaluation cannot be run or compared; no stored run was changed."""

    codes = {
        "eval.cases": "A case file cannot be read, or holds no case for the node.",
        "eval.database": "The node reads stored rows, so it cannot be measured alone.",
        "eval.run": "No stored run has that name, or its file cannot be read.",
    }


class AccessRefused(AlfredError):
    """Whoever asks the server did not show who they are, or may not do what they ask."""

    codes = {
        "access.missing": "The request shows neither a token nor a session.",
        "access.invalid": "The token or session is none that is known here.",
        "access.expired": "The token's or session's time ran out.",
        "access.revoked": "The token was revoked.",
        "access.link": "The sign-in link was used, is too old, or is none that is known here.",
        "access.scope": "The token does not allow that.",
        "access.forgery": "A change by a session came without its proof, or from another site.",
        "access.user": "No user has that name.",
        "access.token": "No token has that id or name.",
        "access.exposed": "The server would be reachable from outside without encryption.",
    }


class RequestRefused(AlfredError):
    """The server does not take a request as it is; nothing was done."""

    codes = {
        "request.invalid": "The request does not fit what its address takes.",
        "request.unknown": "There is nothing at that address.",
        "request.method": "The address does not take that method.",
        "request.media": "The body is of a kind that its address does not take.",
        "request.too_large": "The body is larger than its address takes.",
        "request.too_slow": "The body came too slowly.",
        "request.too_many": "There were too many requests in a short time.",
        "request.key": "The idempotency key was used for another request.",
        "request.host": "The request names a host that is not this server's.",
    }


class ServerFailed(AlfredError):
    """The server met what nobody thought of; its log says where."""

    codes = {"server.failed": "The server met what nobody thought of."}


def all_codes() -> dict[str, str]:
    """Collect every code with its meaning, over the whole tree."""
    found: dict[str, str] = {}
    queue: list[type[AlfredError]] = [AlfredError]
    while queue:
        cls = queue.pop()
        found.update(cls.codes)
        queue.extend(cls.__subclasses__())
    return dict(sorted(found.items()))
