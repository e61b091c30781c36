"""What runs tell while they go on, and what changed for a user: written, heard of, forgotten."""

from __future__ import annotations

from alembic import op

from alfred.engine.database import Role
from alfred.store.row_security import grant, protect

revision = "0004_kernel_events"
down_revision = "0003_kernel_access"
branch_labels = None
depends_on = None

DDL = """
CREATE TABLE turn_event (
    user_id UUID NOT NULL,
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    turn_id UUID,
    type TEXT NOT NULL,
    body JSONB DEFAULT '{}'::jsonb NOT NULL,
    at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT turn_event_pkey PRIMARY KEY (user_id, seq),
    CONSTRAINT turn_event_user_id_turn_id_fkey FOREIGN KEY(user_id, turn_id) REFERENCES turn (user_id, id) ON DELETE CASCADE
);
CREATE INDEX turn_event_user_id_turn_id_seq_idx ON turn_event (user_id, turn_id, seq);
CREATE INDEX turn_event_user_id_at_idx ON turn_event (user_id, at);

-- Listeners hear whose event it is and its number, never what it says.
CREATE FUNCTION tell_listeners() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('alfred_events', NEW.user_id || ':' || NEW.seq);
    RETURN NULL;
END $$;
CREATE TRIGGER told AFTER INSERT ON turn_event FOR EACH ROW EXECUTE FUNCTION tell_listeners();

-- Whoever changes a turn or a proposal, in whichever process: its user's pages hear of it.
CREATE FUNCTION note_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO turn_event (user_id, turn_id, type, body) VALUES
        (NEW.user_id, NEW.id, 'turn', jsonb_build_object('id', NEW.id, 'state', NEW.state));
    RETURN NULL;
END $$;
CREATE TRIGGER begun AFTER INSERT ON turn FOR EACH ROW EXECUTE FUNCTION note_turn();
CREATE TRIGGER went_on AFTER UPDATE ON turn FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION note_turn();

CREATE FUNCTION note_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO turn_event (user_id, turn_id, type, body) VALUES
        (NEW.user_id, NEW.turn_id, 'proposal',
            jsonb_build_object('id', NEW.id, 'state', NEW.state));
    RETURN NULL;
END $$;
CREATE TRIGGER begun AFTER INSERT ON proposal FOR EACH ROW EXECUTE FUNCTION note_proposal();
CREATE TRIGGER went_on AFTER UPDATE ON proposal FOR EACH ROW
    WHEN ((OLD.state, OLD.digest, OLD.revision) IS DISTINCT FROM
        (NEW.state, NEW.digest, NEW.revision)) EXECUTE FUNCTION note_proposal();

-- Nobody looks for what is two days old; a user's next message makes it go.
CREATE FUNCTION forget_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM turn_event WHERE user_id = NEW.user_id AND at < now() - interval '2 days';
    RETURN NULL;
END $$;
CREATE TRIGGER forgets AFTER INSERT ON turn FOR EACH ROW EXECUTE FUNCTION forget_events();
"""


def upgrade() -> None:
    op.execute(DDL)
    for statement in protect("turn_event"):
        op.execute(statement)
    # Events repeat words of their user; the reader serves questions of graphs and models.
    op.execute(grant("turn_event", Role.RUNTIME, ("SELECT", "INSERT", "DELETE")))
    # A decision changes a proposal, which is told in the same transaction.
    op.execute(grant("turn_event", Role.WRITER, ("INSERT",)))


def downgrade() -> None:
    op.execute(
        "DROP TRIGGER begun ON turn; DROP TRIGGER went_on ON turn; DROP TRIGGER forgets ON turn;"
        "DROP TRIGGER begun ON proposal; DROP TRIGGER went_on ON proposal;"
        "DROP TABLE turn_event;"
        "DROP FUNCTION tell_listeners, note_turn, note_proposal, forget_events"
    )
