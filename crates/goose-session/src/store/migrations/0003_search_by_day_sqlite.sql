-- The ids of searchable texts begin with the day of their step, so that the newest matches and those of some
-- days are found without ranking all others. The index is built again, newest sessions first.

DROP TABLE search;
DROP TABLE searchable;

CREATE TABLE searchable (
    id INTEGER NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (session_id, seq)
);

CREATE VIRTUAL TABLE search USING fts5 (
    text,
    content = 'searchable',
    content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2'
);

UPDATE sessions SET indexed_seq = 0;
