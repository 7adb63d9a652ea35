-- Coordination of one repository. `project` is the project's directory relative to the top of the
-- working tree: a repository may have several projects. `worktree` and `made` name a worktree; a
-- new one with the name of a removed one has another `made`.
CREATE TABLE claim (
    project TEXT NOT NULL,
    profile TEXT NOT NULL,
    path TEXT NOT NULL,
    session TEXT NOT NULL,
    token INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    worktree TEXT NOT NULL,
    made INTEGER NOT NULL,
    folder TEXT NOT NULL,
    PRIMARY KEY (project, profile, path)
) STRICT, WITHOUT ROWID;

-- One row: the last fencing token.
CREATE TABLE token (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
) STRICT;

CREATE TABLE session (
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    worktree TEXT NOT NULL,
    made INTEGER NOT NULL,
    folder TEXT NOT NULL,
    profile TEXT,
    path TEXT,
    heard INTEGER NOT NULL,
    PRIMARY KEY (project, session, worktree)
) STRICT, WITHOUT ROWID;

CREATE TABLE touched (
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    worktree TEXT NOT NULL,
    file TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (project, session, worktree, file)
) STRICT, WITHOUT ROWID;

CREATE TABLE reserved_id (
    project TEXT NOT NULL,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    request TEXT NOT NULL,
    worktree TEXT NOT NULL,
    made INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (project, scope, id)
) STRICT, WITHOUT ROWID;
