-- The kind of a session, the session that started it, and its agent. `parent` is not a foreign key: an
-- imported session may name a parent that is in another store.

ALTER TABLE sessions ADD COLUMN kind TEXT NOT NULL DEFAULT 'user';
ALTER TABLE sessions ADD COLUMN parent TEXT;
ALTER TABLE sessions ADD COLUMN agent TEXT;
