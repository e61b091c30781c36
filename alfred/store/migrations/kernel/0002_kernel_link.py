"""Messages that are a link: the words that came, and how the site named what it sent."""

from __future__ import annotations

from alembic import op

revision = "0002_kernel_link"
down_revision = "0001_kernel"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE chat_message ADD COLUMN link TEXT, ADD COLUMN media_type TEXT")


def downgrade() -> None:
    op.execute("ALTER TABLE chat_message DROP COLUMN link, DROP COLUMN media_type")
