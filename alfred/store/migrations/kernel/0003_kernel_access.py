"""Who may: tokens of programs, sessions of browsers, links to sign in; each as a digest."""

from __future__ import annotations

from alembic import op

from alfred.engine.database import Role
from alfred.store.row_security import ERASE, grant, protect

revision = "0003_kernel_access"
down_revision = "0002_kernel_link"
branch_labels = None
depends_on = None

DDL = """
CREATE TABLE api_token (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    scopes JSONB DEFAULT '[]'::jsonb NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    used_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT api_token_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT api_token_user_id_digest_key UNIQUE (user_id, digest)
);

CREATE TABLE web_session (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    digest TEXT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT web_session_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT web_session_user_id_digest_key UNIQUE (user_id, digest)
);

CREATE TABLE sign_in_link (
    user_id UUID NOT NULL,
    id UUID NOT NULL,
    digest TEXT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    used_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT sign_in_link_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT sign_in_link_user_id_digest_key UNIQUE (user_id, digest)
);
"""

TABLES = ("api_token", "web_session", "sign_in_link")


def upgrade() -> None:
    op.execute(DDL)
    for table in TABLES:
        for statement in protect(table):
            op.execute(statement)
        # The reader serves questions of graphs and models, which have no business here.
        op.execute(grant(table, Role.RUNTIME, ERASE))


def downgrade() -> None:
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE {table} CASCADE")
