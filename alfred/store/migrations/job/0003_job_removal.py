"""Deleting postings and applications: documents outlive them, and nothing else may be deleted."""

from __future__ import annotations

from alembic import op

from alfred.engine.canonical import derive_id
from alfred.engine.database import Role
from alfred.engine.writer import SHARED_USER

revision = "0003_job_removal"
down_revision = "0002_job_vocabulary"
branch_labels = None
depends_on = None

KEPT = (
    *("organization", "location", "location_alias", "skill", "skill_alias", "occupation"),
    *("job_requirement", "experience", "interview", "document"),
)
"""Tables of which no action deletes rows; requirements and interviews go with what they refer to."""
LINK = "document_version_user_id_job_posting_id_fkey"
ALIASES = {"javascript": ("java script", "java-script"), "python": ("python3", "python 3")}


def upgrade() -> None:
    op.execute(f"REVOKE DELETE ON {', '.join(KEPT)} FROM {Role.WRITER}")
    relink("SET NULL (job_posting_id)")
    for skill, aliases in ALIASES.items():
        for alias in aliases:
            op.execute(
                "INSERT INTO skill_alias (user_id, id, alias_key, skill_id, skill_user_id)"  # noqa: S608
                f" VALUES ('{SHARED_USER}', '{derive_id(SHARED_USER, 'skill_alias', alias)}',"
                f" '{alias}', '{derive_id(SHARED_USER, 'skill', skill)}', '{SHARED_USER}')"
            )


def downgrade() -> None:
    listed = ", ".join(f"'{alias}'" for aliases in ALIASES.values() for alias in aliases)
    op.execute(
        f"DELETE FROM skill_alias WHERE user_id = '{SHARED_USER}' AND alias_key IN ({listed})"  # noqa: S608
    )
    relink("CASCADE")
    op.execute(f"GRANT DELETE ON {', '.join(KEPT)} TO {Role.WRITER}")


def relink(rule: str) -> None:
    """Say what becomes of a document's version when the posting it was written for is deleted."""
    op.execute(f"ALTER TABLE document_version DROP CONSTRAINT {LINK}")
    op.execute(
        f"ALTER TABLE document_version ADD CONSTRAINT {LINK} FOREIGN KEY (user_id, job_posting_id)"
        f" REFERENCES job_posting (user_id, id) ON DELETE {rule}"
    )
