-- Jobs that run at times. Moments are milliseconds since 1970. A removed job that came from another program's
-- file stays as a row, so that it is not read from there again.
CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY,
    cron TEXT NOT NULL,
    recipe TEXT NOT NULL,
    parameters TEXT NOT NULL,
    working_dir TEXT NOT NULL,
    missed TEXT NOT NULL,
    paused BIGINT NOT NULL DEFAULT 0,
    imported BIGINT NOT NULL DEFAULT 0,
    removed BIGINT NOT NULL DEFAULT 0,
    -- 0 stands for none: columns of numbers are never NULL.
    next_at BIGINT NOT NULL DEFAULT 0,
    -- The process that runs it, and until when it may be believed to be alive.
    owner TEXT,
    owned_until BIGINT NOT NULL DEFAULT 0,
    running_since BIGINT NOT NULL DEFAULT 0,
    last_started_at BIGINT NOT NULL DEFAULT 0,
    last_outcome TEXT,
    last_error TEXT,
    last_session TEXT
);
