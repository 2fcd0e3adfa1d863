-- Sessions and their steps, for every dialect. Times are milliseconds since 1970. Listing sessions does not
-- read their steps: `last_seq` and the columns after it are updated with each append.

CREATE TABLE session_days (
    day TEXT NOT NULL PRIMARY KEY,
    last_number BIGINT NOT NULL
);

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    given_name TEXT,
    title TEXT,
    working_dir TEXT NOT NULL,
    origin TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    indexed_seq BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    dollars DOUBLE PRECISION NOT NULL
);

CREATE TABLE steps (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
);
