-- What Alfred adds to Procrastinate's tables. Every function runs as the owner of the schema, so
-- that the logins need no privilege on the tables; all are written anew at each migration.

CREATE TABLE IF NOT EXISTS member (
    user_id uuid PRIMARY KEY
);

-- What a user was told once, such as that a reminder is due: an id and a day, no words.
CREATE TABLE IF NOT EXISTS announcement (
    user_id uuid NOT NULL,
    subject_id uuid NOT NULL,
    due_on date NOT NULL,
    PRIMARY KEY (user_id, subject_id, due_on)
);

CREATE INDEX IF NOT EXISTS waiting_of_user ON procrastinate_jobs ((args ->> 'user_id'))
    WHERE status = 'todo';

-- Wakes the workers, who are told of new jobs only.
CREATE OR REPLACE FUNCTION wake() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(
        'procrastinate_queue_v1#alfred', '{"type": "job_inserted", "job_id": 0}'
    );
END;
$$;

-- Makes a user known to the periodic tasks.
CREATE OR REPLACE FUNCTION enrol(new_member uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO member VALUES (new_member) ON CONFLICT DO NOTHING;
END;
$$;

CREATE OR REPLACE FUNCTION members() RETURNS SETOF uuid LANGUAGE sql STABLE AS $$
    SELECT user_id FROM member ORDER BY user_id;
$$;

-- True for whoever asks first; what is long past is forgotten on the way.
CREATE OR REPLACE FUNCTION is_news(told uuid, subject uuid, day date)
    RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM announcement WHERE user_id = told AND due_on < day - 400;
    INSERT INTO announcement VALUES (told, subject, day) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END;
$$;

-- How many turns of the transaction's user wait.
CREATE OR REPLACE FUNCTION waiting() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM procrastinate_jobs
    WHERE status = 'todo' AND args ->> 'user_id' = current_setting('alfred.user_id', true);
$$;

-- Lets a turn of the transaction's user wait for a worker; false where too many wait already.
-- A turn that waits does not wait twice. Without a bound nothing is refused.
CREATE OR REPLACE FUNCTION enqueue_turn(waiting_turn uuid, bound integer)
    RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    owner uuid := NULLIF(current_setting('alfred.user_id', true), '')::uuid;
    conversation uuid;
BEGIN
    SELECT thread_id INTO STRICT conversation FROM public.turn
        JOIN public.chat_message ON chat_message.user_id = turn.user_id
            AND chat_message.id = turn.message_id
        WHERE turn.user_id = owner AND turn.id = waiting_turn;
    -- Of two at once the second counts the first.
    PERFORM pg_advisory_xact_lock(hashtextextended('queue/' || owner, 0));
    IF EXISTS (SELECT FROM procrastinate_jobs
               WHERE status = 'todo' AND queueing_lock = waiting_turn::text) THEN
        RETURN true;
    END IF;
    IF waiting() >= bound THEN
        RETURN false;
    END IF;
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)
        VALUES ('alfred', 'run_turn', conversation::text, waiting_turn::text,
                jsonb_build_object('user_id', owner, 'turn_id', waiting_turn));
    PERFORM enrol(owner);
    RETURN true;
END;
$$;

-- Of these turns, those that neither wait nor run.
CREATE OR REPLACE FUNCTION forgotten(turns uuid[]) RETURNS SETOF uuid LANGUAGE sql STABLE AS $$
    SELECT given FROM unnest(turns) AS given WHERE NOT EXISTS (
        SELECT FROM procrastinate_jobs
        WHERE queueing_lock = given::text AND status IN ('todo', 'doing')
    );
$$;

-- Fails unless a worker still has a job. The row stays locked until the transaction ends, so that
-- nobody takes the job over between this and the commit.
CREATE OR REPLACE FUNCTION hold_lease(held bigint, holder bigint)
    RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM procrastinate_jobs
        WHERE id = held AND worker_id = holder AND status = 'doing' FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'worker % has lost job %', holder, held USING ERRCODE = 'AF001';
    END IF;
END;
$$;

-- Ends a job; false, and nothing done, where another worker has it.
CREATE OR REPLACE FUNCTION finish(
    held bigint, holder bigint, end_status procrastinate_job_status, is_deleted boolean
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM procrastinate_jobs
        WHERE id = held AND worker_id = holder AND status = 'doing' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM procrastinate_finish_job_v1(held, end_status, is_deleted);
    PERFORM wake();
    RETURN true;
END;
$$;

-- Gives a job that nobody does any more to the queue, unless its turn waits there again.
CREATE OR REPLACE FUNCTION let_wait(undone bigint, due timestamptz)
    RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM procrastinate_jobs waiting JOIN procrastinate_jobs given
            ON given.queueing_lock = waiting.queueing_lock
        WHERE given.id = undone AND waiting.status = 'todo'
    ) THEN
        DELETE FROM procrastinate_jobs WHERE id = undone;
    ELSE
        UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL, scheduled_at = due,
            attempts = attempts + 1, abort_requested = false WHERE id = undone;
    END IF;
    PERFORM wake();
END;
$$;

-- Hands a job back; false, and nothing done, where another worker has it.
CREATE OR REPLACE FUNCTION hand_back(held bigint, holder bigint, due timestamptz)
    RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM procrastinate_jobs
        WHERE id = held AND worker_id = holder AND status = 'doing' FOR UPDATE;
    IF FOUND THEN
        PERFORM let_wait(held, due);
    END IF;
    RETURN FOUND;
END;
$$;

-- Says that a worker lives, and takes over what belongs to workers that were silent for longer
-- than the lease; false where this worker was itself taken for dead.
CREATE OR REPLACE FUNCTION beat(living bigint, lease_s double precision)
    RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    left_over bigint;
    is_known boolean;
BEGIN
    UPDATE procrastinate_workers SET last_heartbeat = clock_timestamp() WHERE id = living;
    is_known := FOUND;
    -- The foreign key empties worker_id of their jobs.
    DELETE FROM procrastinate_workers
        WHERE last_heartbeat < clock_timestamp() - make_interval(secs => lease_s);
    FOR left_over IN SELECT id FROM procrastinate_jobs
        WHERE status = 'doing' AND worker_id IS NULL FOR UPDATE SKIP LOCKED
    LOOP
        -- Whoever takes a run over knows how many workers it has outlived.
        UPDATE procrastinate_jobs
            SET args = args || jsonb_build_object('lost', coalesce((args ->> 'lost')::int, 0) + 1)
            WHERE id = left_over AND task_name = 'run_turn';
        PERFORM let_wait(left_over, clock_timestamp());
    END LOOP;
    RETURN is_known;
END;
$$;
