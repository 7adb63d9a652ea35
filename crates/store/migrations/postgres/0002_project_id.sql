-- A project is its id (`project_id` in its config.toml); its name is a label that others may also choose. Rows made
-- before have none, and those that were put aside lose theirs. SQLite needs no such step: its file is one project's.

ALTER TABLE project ADD COLUMN uid TEXT COLLATE "C" UNIQUE;
