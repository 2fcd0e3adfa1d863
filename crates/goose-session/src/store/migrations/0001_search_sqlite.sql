-- Searchable texts and an index over them, for SQLite. The index holds no copy of the texts.

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
