-- The tables of migrations/sqlite/0001_foundation.sql, each with its project. Whose rows are seen and written says the
-- setting `throughline.project` of the transaction, by row-level security: statements are the same in both databases.
-- Text is compared byte by byte, as SQLite does.

CREATE TABLE project (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE FUNCTION this_project() RETURNS BIGINT LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT current_setting('throughline.project')::BIGINT $$;

CREATE TABLE store (
    project      BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    store_id     TEXT   COLLATE "C" NOT NULL,
    min_reader   BIGINT NOT NULL,
    min_writer   BIGINT NOT NULL,
    head         BIGINT NOT NULL,
    head_hash    BYTEA  NOT NULL,
    journal_size BIGINT NOT NULL,
    next_node    BIGINT NOT NULL,
    node_total   BIGINT NOT NULL,
    sum          BIGINT NOT NULL,
    PRIMARY KEY (project)
) WITH (fillfactor = 50);

CREATE TABLE node (
    project         BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    id              BIGINT NOT NULL,
    parent          BIGINT,
    content         BIGINT NOT NULL,
    canonical       BYTEA,
    basis_canonical BYTEA,
    approved        BYTEA,
    approved_parent BYTEA,
    is_condemned    BIGINT NOT NULL,
    condemned       BYTEA,
    footing_sum     BIGINT NOT NULL,
    lineage         BYTEA  NOT NULL,
    profile         TEXT   COLLATE "C" NOT NULL,
    level           TEXT   COLLATE "C" NOT NULL,
    alias           TEXT   COLLATE "C" NOT NULL,
    ord             BIGINT NOT NULL,
    path            TEXT   COLLATE "C",
    title           TEXT   COLLATE "C",
    needs           TEXT   COLLATE "C",
    relies_on       TEXT   COLLATE "C",
    work            TEXT   COLLATE "C",
    content_note    TEXT   COLLATE "C",
    version         BYTEA,
    basis_version   BYTEA,
    approved_version        BYTEA,
    approved_parent_version BYTEA,
    approved_by             TEXT COLLATE "C",
    approved_at             BIGINT,
    approval_warnings       TEXT COLLATE "C",
    condemnation    TEXT   COLLATE "C",
    progress        BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    words_sum       BIGINT NOT NULL,
    child_total     BIGINT NOT NULL,
    child_sum       BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE UNIQUE INDEX node_lineage ON node (project, lineage);
CREATE INDEX node_parent ON node (project, parent);
CREATE INDEX node_alias ON node (project, alias, parent);

-- A cascade rewrites these and nothing else; room is left in each page, so that no index is touched.
CREATE TABLE standing (
    project      BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    node         BIGINT NOT NULL,
    status       BIGINT NOT NULL,
    cause        BIGINT,
    since        BIGINT,
    standing_sum BIGINT NOT NULL,
    PRIMARY KEY (project, node)
) WITH (fillfactor = 70);

CREATE TABLE cause (
    project BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    id      BIGINT GENERATED ALWAYS AS IDENTITY,
    body    TEXT   COLLATE "C" NOT NULL,
    PRIMARY KEY (project, id)
);

CREATE TABLE text (
    project BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    hash    BYTEA  NOT NULL,
    size    BIGINT NOT NULL,
    zstd    BYTEA  NOT NULL,
    PRIMARY KEY (project, hash)
);
-- It is compressed already.
ALTER TABLE text ALTER COLUMN zstd SET STORAGE EXTERNAL;

CREATE TABLE version (
    project         BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    node            BIGINT NOT NULL,
    hash            BYTEA  NOT NULL,
    canonical       BYTEA  NOT NULL,
    basis_version   BYTEA,
    basis_canonical BYTEA,
    operation       BIGINT NOT NULL,
    at              BIGINT NOT NULL,
    size            BIGINT,
    sum             BIGINT NOT NULL,
    PRIMARY KEY (project, node, hash)
);
CREATE INDEX version_operation ON version (project, operation);
CREATE INDEX version_hash ON version (project, hash);

CREATE TABLE operation (
    project   BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    id        BIGINT NOT NULL,
    head      TEXT   COLLATE "C" NOT NULL,
    head_sum  BIGINT NOT NULL,
    prev      BYTEA  NOT NULL,
    hash      BYTEA  NOT NULL,
    key       TEXT   COLLATE "C",
    undone_by BIGINT,
    body      TEXT   COLLATE "C" NOT NULL,
    -- Which transaction brought it: whoever lost its connection in the middle of a commit finds out by this.
    writer    TEXT   COLLATE "C" DEFAULT current_setting('throughline.writer', true),
    PRIMARY KEY (project, id)
);
CREATE UNIQUE INDEX operation_key ON operation (project, key) WHERE key IS NOT NULL;

CREATE TABLE touched (
    project   BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    node      BIGINT NOT NULL,
    operation BIGINT NOT NULL,
    PRIMARY KEY (project, node, operation)
);
CREATE TABLE touched_many (
    project   BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    operation BIGINT NOT NULL,
    stretches BYTEA  NOT NULL,
    PRIMARY KEY (project, operation)
);

CREATE TABLE backup (
    project BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    node    BIGINT NOT NULL,
    version BYTEA  NOT NULL,
    path    TEXT   COLLATE "C" NOT NULL,
    reason  TEXT   COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (project, node, path)
);

CREATE TABLE record (
    project BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    kind    TEXT   COLLATE "C" NOT NULL,
    key     TEXT   COLLATE "C" NOT NULL,
    body    TEXT   COLLATE "C" NOT NULL,
    sum     BIGINT NOT NULL,
    PRIMARY KEY (project, kind, key)
);

-- PostgreSQL ranks otherwise than BM25: the words are kept, and counted by us.
CREATE TABLE searched (
    project BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    kind    TEXT   COLLATE "C" NOT NULL,
    key     TEXT   COLLATE "C" NOT NULL,
    words   TEXT   COLLATE "C" NOT NULL,
    length  BIGINT NOT NULL,
    PRIMARY KEY (project, kind, key)
);

-- Of one working copy of the plan files, which `throughline.place` names.
CREATE TABLE stamp (
    project     BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    place       TEXT   COLLATE "C" NOT NULL DEFAULT current_setting('throughline.place'),
    node        BIGINT NOT NULL,
    size        BIGINT NOT NULL,
    modified_ns BIGINT NOT NULL,
    changed_ns  BIGINT NOT NULL,
    inode       BIGINT NOT NULL,
    version     BYTEA  NOT NULL,
    PRIMARY KEY (project, place, node)
);

CREATE TABLE note (
    project BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    key     TEXT   COLLATE "C" NOT NULL,
    body    TEXT   COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (project, key)
);

CREATE TABLE access_token (
    project      BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    id           BIGINT GENERATED BY DEFAULT AS IDENTITY,
    name         TEXT   COLLATE "C" NOT NULL,
    principal    TEXT   COLLATE "C" NOT NULL,
    scope        TEXT   COLLATE "C" NOT NULL,
    hash         BYTEA  NOT NULL,
    cookie       BYTEA  NOT NULL,
    created_at   BIGINT NOT NULL,
    created_by   TEXT   COLLATE "C" NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (project, id)
);
CREATE UNIQUE INDEX access_token_hash ON access_token (project, hash);

CREATE TABLE audit (
    project   BIGINT NOT NULL DEFAULT this_project() REFERENCES project ON DELETE CASCADE,
    id        BIGINT GENERATED BY DEFAULT AS IDENTITY,
    at        BIGINT NOT NULL,
    principal TEXT   COLLATE "C",
    token     BIGINT,
    action    TEXT   COLLATE "C" NOT NULL,
    outcome   TEXT   COLLATE "C" NOT NULL,
    detail    TEXT   COLLATE "C" NOT NULL,
    came_from TEXT   COLLATE "C" NOT NULL,
    trace     TEXT   COLLATE "C",
    times     BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);

DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['store', 'node', 'standing', 'cause', 'text', 'version', 'operation', 'touched',
        'touched_many', 'backup', 'record', 'searched', 'note', 'access_token', 'audit']
    LOOP
        EXECUTE format('CREATE POLICY one_project ON %I USING (project = this_project())', name);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
    END LOOP;
END $$;
CREATE POLICY one_place ON stamp
    USING (project = this_project() AND place = current_setting('throughline.place'));
ALTER TABLE stamp ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
