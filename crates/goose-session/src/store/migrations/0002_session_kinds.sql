-- The reason a session exists, the session that started it, and the agent that runs it. `parent` is not a foreign key: an
-- imported session may name a parent that is in another store.

ALTER TABLE sessions ADD COLUMN kind TEXT NOT NULL DEFAULT 'user';
ALTER TABLE sessions ADD COLUMN parent TEXT;
ALTER TABLE sessions ADD COLUMN agent TEXT;
