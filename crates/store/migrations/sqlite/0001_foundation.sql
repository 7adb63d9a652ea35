-- One row: who this store is and where it stands.
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

-- lineage: the ids from the root down, four bytes each; a subtree is one range of it.
-- Several sums per row, because a cascade reads only part of it.
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
-- Apart from the nodes, because a cascade rewrites these and nothing else: a few bytes a node.
CREATE TABLE standing (
    node         INTEGER PRIMARY KEY,
    status       INTEGER NOT NULL,
    cause        INTEGER,
    since        INTEGER,
    standing_sum INTEGER NOT NULL
) STRICT;

-- Causes, each kept once; the sums of the standings that name it guard it too.
CREATE TABLE cause (
    id   INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX node_lineage ON node (lineage);
CREATE INDEX node_parent ON node (parent);
CREATE INDEX node_alias ON node (alias, parent);

-- Texts, by the SHA-256 of their bytes; that hash is also their sum.
CREATE TABLE text (
    hash  BLOB    PRIMARY KEY,
    size  INTEGER NOT NULL,
    zstd  BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- A version with a size has its text in the table above.
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

-- The same operations as in journal.jsonl, byte for byte: each repairs the other. The body may have megabytes and comes last,
-- so that a list of operations never touches it; head is what such a list says, guarded by head_sum.
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
CREATE UNIQUE INDEX operation_key ON operation (key) WHERE key IS NOT NULL;

-- Which operations touched a node. An index, not state. One that touched many has a single row: stretches of numbers, each
-- as first and last, four bytes each; a cascade over ten thousand nodes is a few of them.
CREATE TABLE touched (
    node      INTEGER NOT NULL,
    operation INTEGER NOT NULL,
    PRIMARY KEY (node, operation)
) STRICT, WITHOUT ROWID;
CREATE TABLE touched_many (
    operation INTEGER PRIMARY KEY,
    stretches BLOB    NOT NULL
) STRICT;

CREATE TABLE backup (
    node    INTEGER NOT NULL,
    version BLOB    NOT NULL,
    path    TEXT    NOT NULL,
    reason  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (node, path)
) STRICT, WITHOUT ROWID;

-- State that is no node, as small JSON documents.
CREATE TABLE record (
    kind TEXT    NOT NULL,
    key  TEXT    NOT NULL,
    body TEXT    NOT NULL,
    sum  INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- The words of the records that can be searched, as domain::search gives them: blanks alone separate them, so the
-- tokenizer has nothing to decide. An index, not state.
CREATE TABLE searched (
    id   INTEGER PRIMARY KEY,
    kind TEXT    NOT NULL,
    key  TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX searched_record ON searched (kind, key);
CREATE VIRTUAL TABLE search USING fts5 (kind, words, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '2 3');

-- A cache of this machine: under which stamp a file was last read.
CREATE TABLE stamp (
    node        INTEGER PRIMARY KEY,
    size        INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    changed_ns  INTEGER NOT NULL,
    inode       INTEGER NOT NULL,
    version     BLOB    NOT NULL
) STRICT;

-- Notes of this machine, not part of the state: what a session has read, a gate that was overridden.
CREATE TABLE note (
    key  TEXT    PRIMARY KEY,
    body TEXT    NOT NULL,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may come in at a server. Beside the state: not made from operations. A secret is not kept, only its hash.
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
CREATE UNIQUE INDEX access_token_hash ON access_token (hash);

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
