"""The values that statuses, verdicts and modes of a diagnosis can have."""

from enum import StrEnum


class PlannerStatus(StrEnum):
    """How planning ended."""

    COMPLETED = "COMPLETED"
    INVALID_OUTPUT = "INVALID_OUTPUT"
    RETRYABLE_FAILED = "RETRYABLE_FAILED"
    FAILED = "FAILED"


class ExecutorStatus(StrEnum):
    """How gathering evidence ended; PARTIAL where some calls failed or the budget ran out."""

    COMPLETED = "COMPLETED"
    PARTIAL = "PARTIAL"
    FAILED = "FAILED"


class GatekeeperStatus(StrEnum):
    """How admitting evidence ended; REJECTED where none of it is admissible."""

    COMPLETED = "COMPLETED"
    REJECTED = "REJECTED"
    FAILED = "FAILED"


class VerifierStatus(StrEnum):
    """How checking the facts ended."""

    COMPLETED = "COMPLETED"
    INVALID_OUTPUT = "INVALID_OUTPUT"
    RETRYABLE_FAILED = "RETRYABLE_FAILED"
    FAILED = "FAILED"


class ComposerStatus(StrEnum):
    """How writing the answer ended."""

    COMPLETED = "COMPLETED"
    INVALID_OUTPUT = "INVALID_OUTPUT"
    RETRYABLE_FAILED = "RETRYABLE_FAILED"
    FAILED = "FAILED"


class Verdict(StrEnum):
    """How much the evidence carries: PASS above LOW_CONFID above REJECT."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    LOW_CONFID = "LOW_CONFID"
    REJECT = "REJECT"


class PlannerMode(StrEnum):
    """What is planned for: the whole question, or the gaps that the verifier found."""

    FULL = "FULL"
    EVIDENCE_GAP_ONLY = "EVIDENCE_GAP_ONLY"


class FactVerification(StrEnum):
    """What the evidence says of one fact."""

    DIRECT_SUPPORT = "direct_support"
    INDIRECT_SUPPORT = "indirect_support"
    NO_EVIDENCE = "no_evidence"
    CONTRADICTED = "contradicted"


GAPS = frozenset({FactVerification.NO_EVIDENCE, FactVerification.INDIRECT_SUPPORT})
"""Verifications that another look for evidence may improve."""

TECHNICAL = frozenset({"INVALID_OUTPUT", "RETRYABLE_FAILED"})
"""Statuses after which the same step may be tried once more."""
