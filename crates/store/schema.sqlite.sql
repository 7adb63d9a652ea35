CREATE TABLE access_token (
    id           INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL,
    principal    TEXT    NOT NULL,
    scope        TEXT    NOT NULL,
    hash         BLOB    NOT NULL,
    cookie       BLOB    NOT NULL,
    created_at   INTEGER NOT NULL,
    created_by   TEXT    NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
) STRICT;

CREATE TABLE audit (
    id        INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    principal TEXT,
    token     INTEGER,
    action    TEXT    NOT NULL,
    outcome   TEXT    NOT NULL,
    detail    TEXT    NOT NULL,
    came_from TEXT    NOT NULL,
    trace     TEXT,
    times     INTEGER NOT NULL
) STRICT;

CREATE TABLE backup (
    node    INTEGER NOT NULL,
    version BLOB    NOT NULL,
    path    TEXT    NOT NULL,
    reason  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (node, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE cause (
    id   INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE node (
    id              INTEGER PRIMARY KEY,
    parent          INTEGER,
    content         INTEGER NOT NULL,
    canonical       BLOB,
    basis_canonical BLOB,
    approved        BLOB,
    approved_parent BLOB,
    is_condemned    INTEGER NOT NULL,
    condemned       BLOB,
    footing_sum     INTEGER NOT NULL,
    lineage         BLOB    NOT NULL,
    profile         TEXT    NOT NULL,
    level           TEXT    NOT NULL,
    alias           TEXT    NOT NULL,
    ord             INTEGER NOT NULL,
    path            TEXT,
    title           TEXT,
    needs           TEXT,
    relies_on       TEXT,
    work            TEXT,
    content_note    TEXT,
    version         BLOB,
    basis_version   BLOB,
    approved_version        BLOB,
    approved_parent_version BLOB,
    approved_by             TEXT,
    approved_at             INTEGER,
    approval_warnings       TEXT,
    condemnation    TEXT,
    progress        INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    words_sum       INTEGER NOT NULL,
    child_total     INTEGER NOT NULL,
    child_sum       INTEGER NOT NULL
) STRICT;

CREATE TABLE note (
    key  TEXT    PRIMARY KEY,
    body TEXT    NOT NULL,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE operation (
    id        INTEGER PRIMARY KEY,
    head      TEXT    NOT NULL,
    head_sum  INTEGER NOT NULL,
    prev      BLOB    NOT NULL,
    hash      BLOB    NOT NULL,
    key       TEXT,
    undone_by INTEGER,
    body      TEXT    NOT NULL
) STRICT;

CREATE TABLE record (
    kind TEXT    NOT NULL,
    key  TEXT    NOT NULL,
    body TEXT    NOT NULL,
    sum  INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE search USING fts5 (kind, words, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '2 3');

CREATE TABLE 'search_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'search_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'search_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);

CREATE TABLE 'search_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE searched (
    id   INTEGER PRIMARY KEY,
    kind TEXT    NOT NULL,
    key  TEXT    NOT NULL
) STRICT;

CREATE TABLE stamp (
    node        INTEGER PRIMARY KEY,
    size        INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    changed_ns  INTEGER NOT NULL,
    inode       INTEGER NOT NULL,
    version     BLOB    NOT NULL
) STRICT;

CREATE TABLE standing (
    node         INTEGER PRIMARY KEY,
    status       INTEGER NOT NULL,
    cause        INTEGER,
    since        INTEGER,
    standing_sum INTEGER NOT NULL
) STRICT;

CREATE TABLE store (
    one          INTEGER PRIMARY KEY CHECK (one = 1),
    store_id     TEXT    NOT NULL,
    min_reader   INTEGER NOT NULL,
    min_writer   INTEGER NOT NULL,
    head         INTEGER NOT NULL,
    head_hash    BLOB    NOT NULL,
    journal_size INTEGER NOT NULL,
    next_node    INTEGER NOT NULL,
    node_total   INTEGER NOT NULL,
    sum          INTEGER NOT NULL
) STRICT;

CREATE TABLE text (
    hash  BLOB    PRIMARY KEY,
    size  INTEGER NOT NULL,
    zstd  BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE touched (
    node      INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    PRIMARY KEY (node, operation)
) STRICT, WITHOUT ROWID;

CREATE TABLE touched_many (
    operation INTEGER PRIMARY KEY,
    stretches BLOB    NOT NULL
) STRICT;

CREATE TABLE version (
    node            INTEGER NOT NULL,
    hash            BLOB    NOT NULL,
    canonical       BLOB    NOT NULL,
    basis_version   BLOB,
    basis_canonical BLOB,
    operation       INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    size            INTEGER,
    sum             INTEGER NOT NULL,
    PRIMARY KEY (node, hash)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX access_token_hash ON access_token (hash);

CREATE INDEX node_alias ON node (alias, parent);

CREATE UNIQUE INDEX node_lineage ON node (lineage);

CREATE INDEX node_parent ON node (parent);

CREATE UNIQUE INDEX operation_key ON operation (key) WHERE key IS NOT NULL;

CREATE UNIQUE INDEX searched_record ON searched (kind, key);
