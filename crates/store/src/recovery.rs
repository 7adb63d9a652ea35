//! Recovery: rebuilds a damaged or missing state from the journal, a quarantined state, or the
//! mirror.
//!
//! Tried in that order. Damaged files are quarantined, never deleted, and the returned notices name
//! the source that was used and what could not be recovered.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::cascade::{CascadeContext, reevaluate_subtree};
use domain::fact::Fact;
use domain::ids::{OperationId, Principal, StoreId, VersionHash};
use domain::node::Status;
use domain::operation::{Channel, Verb};
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::{FileReadResult, NewOperation, PlanFiles, Recovery, Store, StoreFault};
use domain::secrets::mask_operation;
use domain::settings::Storage;
use domain::status::{StatusInputs, StatusRules};
use domain::text::count_with_noun;
use domain::time::Timestamp;
use domain::tree::Tree;

use crate::engine::{ChainedOperation, EngineSettings, io_fault};
use crate::file_lock::acquire_file_lock;
use crate::journal::{Journal, chain_start_hash};
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::memory::MemoryState;
use crate::mirror::{Mirror, MirrorContents};
use crate::plan_files::DiskFiles;
use crate::postgres::PostgresStore;
use crate::quarantine::{
    self, QuarantineManifest, QuarantineReason, RecoveredOperations, quarantine_files,
};
use crate::replacement::{
    DATABASE_SUFFIXES, RECOVERY_COMMAND, ReplacementCause, build_staged_state,
    finish_interrupted_locked, refuse_newer_state, remove_staging_folder, replace_state_locked,
    staged_layout, with_suffix,
};
use crate::sqlite::SqliteStore;
use crate::store_dump::{StoreDump, dump_journal};
use crate::tables::access::{AccessContents, AccessTables, AccessTransactions};

/// Which stores may be rebuilt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trust<'k> {
    /// Only those this user created or adopted.
    Known(&'k KnownStores),
    /// Any: the user is adopting this one, and it is added to the list.
    Adopted(&'k KnownStores),
}

impl<'k> Trust<'k> {
    /// Returns the user's trusted stores.
    fn known_stores(self) -> Option<&'k KnownStores> {
        match self {
            Self::Known(known) | Self::Adopted(known) => Some(known),
        }
    }
}

/// The source of a rebuild.
struct RebuildSource {
    store: StoreId,
    entries: Vec<ChainedOperation>,
    /// The present journal is intact and stays.
    journal_is_good: bool,
    from: String,
    lost: Option<String>,
}

/// Quarantines the damaged state and rebuilds it. `what` is the reason, for the notice.
pub(crate) fn rebuild_state(
    layout: &Layout,
    storage: Storage,
    what: &str,
    trust: Trust<'_>,
    now: Timestamp,
) -> Result<Vec<Recovery>, StoreFault> {
    let _lock = acquire_rebuild_lock(layout)?;
    // An interrupted swap explains most missing states; rebuilding first would fork the history.
    let finished = finish_interrupted_locked(layout, storage, trust.known_stores())?;
    if storage == Storage::Postgres {
        return rebuild_shared_tables(layout, what, trust);
    }
    if !finished.is_empty() && is_usable(layout, storage) {
        return Ok(finished);
    }
    // To this program a newer format looks like damage: never rebuild over it.
    refuse_newer_state(layout)?;
    // Another process may have repaired it while we waited for the lock, or only the journal is
    // damaged and can be rewritten from the database.
    if storage == Storage::Sqlite
        && let Ok(store) = SqliteStore::open(layout, &EngineSettings::default())
        && store.repair_journal_if_intact()?
    {
        return Ok(finished
            .into_iter()
            .chain(store.take_recoveries())
            .collect());
    }
    let source = find_rebuild_source(layout, storage, now)?;
    // Checked on the source, not on the damaged file: a cloned project without its database must
    // not become trusted by being rebuilt.
    if let Trust::Known(known) = trust
        && !known.is_known(&source.store)
    {
        return Err(StoreFault::Foreign {
            store: source.store,
        });
    }
    if source.journal_is_good && storage == Storage::Json {
        return Ok(finished);
    }
    // API tokens are in no journal. Read before the database is moved away.
    let book = read_token_store(layout, storage, |id| *id == source.store);
    let cargo = StoreDump::new(source.store, source.entries);
    let cause = ReplacementCause {
        command: RECOVERY_COMMAND,
        reason: QuarantineReason::Damaged,
        why: what.to_owned(),
        now,
    };
    // The simple path needs no recovery note, and so works with less free space.
    let quarantined = match source.journal_is_good {
        true => replace_database_only(layout, &cargo, &book, &cause)?,
        false => {
            replace_state_locked(layout, storage, trust.known_stores(), &cargo, &book, &cause)?
        }
    };

    let operations = count_with_noun(cargo.recorded.len(), "operation", "operations");
    let mut message = format!("{what}; rebuilt from the {} ({operations})", source.from);
    if !quarantined.is_empty() {
        message.push_str(&format!(
            "; what was there is in {}",
            quarantined.join(", ")
        ));
    }
    if let Some(lost) = source.lost {
        message.push_str(&format!("; {lost}"));
    }
    Ok(finished.into_iter().chain([Recovery { message }]).collect())
}

/// Whether a state can be opened and is not sealed.
fn is_usable(layout: &Layout, storage: Storage) -> bool {
    match storage {
        Storage::Json => dump_journal(&Journal::new(&layout.journal)).is_ok(),
        _ => SqliteStore::open(layout, &EngineSettings::default())
            .and_then(|store| store.read_store_row())
            .is_ok_and(|row| !row.is_sealed()),
    }
}

/// Rebuilds only the database. The journal stays, so a kill at any moment leaves the source intact
/// and the next command starts over; no recovery note is needed.
fn replace_database_only(
    layout: &Layout,
    cargo: &StoreDump,
    book: &AccessContents,
    cause: &ReplacementCause<'_>,
) -> Result<Vec<String>, StoreFault> {
    build_staged_state(layout, Storage::Sqlite, cargo, book, false)
        .inspect_err(|_| remove_staging_folder(layout))?;
    let manifest = QuarantineManifest::new(
        cause.now,
        cause.reason,
        &cause.why,
        Some(cargo.chain_head()),
    );
    let quarantined = quarantine_files(layout, &manifest, database_file_paths(&layout.database))?;
    if let Some(folder) = layout.database.parent() {
        crate::private_files::create_private_directory(folder)
            .map_err(|error| io_fault("cannot create", folder, error))?;
    }
    let folder = layout.database.parent().unwrap_or(&layout.home);
    // The one step that matters: before it there is no database, after it a verified one.
    let installed = std::fs::rename(staged_layout(layout).database, &layout.database)
        .and_then(|()| crate::durable::sync_folder(folder));
    remove_staging_folder(layout);
    installed.map_err(|error| io_fault("cannot write", &layout.database, error))?;
    Ok(quarantined.into_iter().collect())
}

/// Returns the best source: the journal, a quarantined state, or the mirror.
fn find_rebuild_source(
    layout: &Layout,
    storage: Storage,
    now: Timestamp,
) -> Result<RebuildSource, StoreFault> {
    if let Some(source) = recover_from_journal(layout)? {
        return Ok(source);
    }
    if let Some(source) = recover_from_quarantine(layout, storage)? {
        return Ok(source);
    }
    recover_from_mirror(layout, now)?.ok_or(StoreFault::Missing)
}

/// Reads the token store as far as possible, because no journal can restore it. The tokens of an
/// untrusted store are dropped: they would authenticate strangers.
pub(crate) fn read_token_store(
    layout: &Layout,
    storage: Storage,
    is_ours: impl Fn(&StoreId) -> bool,
) -> AccessContents {
    let settings = EngineSettings::default();
    let read = |id: StoreId, book: &dyn AccessTransactions| match is_ours(&id) {
        true => AccessTables(book).export_contents(),
        false => Ok(AccessContents::default()),
    };
    let contents = match storage {
        Storage::Sqlite => SqliteStore::open(layout, &settings)
            .and_then(|store| read(store.read_store_id()?, &store)),
        Storage::Postgres => PostgresStore::open(layout, &settings)
            .and_then(|store| read(store.read_store_id()?, &store)),
        // A replica's users authenticate at the server, and the JSON engine has no token store.
        Storage::Json | Storage::Remote => Ok(AccessContents::default()),
    };
    // A token store that is damaged, too, must not stop the recovery: tokens can be issued again.
    contents.unwrap_or_default()
}

/// Writes the token store into the state that replaces the old one.
pub(crate) fn write_token_store(
    layout: &Layout,
    storage: Storage,
    contents: &AccessContents,
) -> Result<(), StoreFault> {
    let settings = EngineSettings {
        mirror: false,
        ..EngineSettings::default()
    };
    match storage {
        Storage::Sqlite => {
            AccessTables(&SqliteStore::open(layout, &settings)?).import_contents(contents)
        }
        Storage::Postgres => {
            AccessTables(&PostgresStore::open(layout, &settings)?).import_contents(contents)
        }
        Storage::Json | Storage::Remote => Ok(()),
    }
}

/// Rebuilds the tables of a shared database from its operations.
fn rebuild_shared_tables(
    layout: &Layout,
    what: &str,
    trust: Trust<'_>,
) -> Result<Vec<Recovery>, StoreFault> {
    let store = PostgresStore::open(layout, &EngineSettings::default())?;
    let id = store.read_store_id()?;
    if let Trust::Known(known) = trust
        && !known.is_known(&id)
    {
        return Err(StoreFault::Foreign { store: id });
    }
    let operations = count_with_noun(store.rebuild_tables()?, "operation", "operations");
    Ok(vec![Recovery {
        message: format!("{what}; rebuilt from the operations in the database ({operations})"),
    }])
}

/// Recovers from the journal, and from the database what a broken journal lacks.
fn recover_from_journal(layout: &Layout) -> Result<Option<RebuildSource>, StoreFault> {
    let Some(kept) = RecoveredOperations::read_from(layout)? else {
        return Ok(None);
    };
    // A damaged database without its journal may yield only the first operations; the mirror has
    // every node.
    if !layout.journal.exists() && !kept.is_whole() {
        return Ok(None);
    }
    let after = kept.chain_head().operation.0 - kept.salvaged as u64;
    let lost = kept.damage.as_ref().filter(|damage| !damage.torn).map(|damage| {
        format!(
            "journal line {} was damaged ({}): operations after {after} could only be taken from the database",
            damage.line, damage.what
        )
    });
    let RecoveredOperations {
        store,
        entries,
        journal_is_good,
        salvaged,
        ..
    } = kept;
    let from = if salvaged == 0 {
        "journal"
    } else {
        "journal and the database"
    };
    Ok(Some(RebuildSource {
        store,
        entries,
        journal_is_good,
        from: from.to_owned(),
        lost,
    }))
}

/// Recovers from the newest complete quarantined state, unless the mirror is ahead of it: then it
/// would undo decisions made since.
fn recover_from_quarantine(
    layout: &Layout,
    storage: Storage,
) -> Result<Option<RebuildSource>, StoreFault> {
    // A replica fetches what it lacks from its server.
    if layout.server.is_some() {
        return Ok(None);
    }
    let mirror = mirror_for_recovery(layout).mirrored_head();
    for set in quarantine::list_sets(layout)? {
        let manifest = set.read_manifest();
        if manifest
            .as_ref()
            .is_some_and(|manifest| manifest.reason == QuarantineReason::Replica)
        {
            continue;
        }
        // A process started before the move, or with old settings, must not fork the history.
        if !set.is_empty()
            && manifest
                .and_then(|manifest| manifest.moved_to)
                .is_some_and(|to| to != storage)
        {
            return Err(StoreFault::Moved);
        }
        let Some(kept) = set
            .read_operations(layout)?
            .filter(|kept| kept.is_whole() && !kept.entries.is_empty())
        else {
            continue;
        };
        let head = kept.chain_head();
        if mirror
            .as_ref()
            // Another store or a higher operation: this set is older than what the project had
            // last.
            .is_some_and(|(store, operation)| *store != head.store || *operation > head.operation)
        {
            continue;
        }
        let from = format!(
            "quarantined journal in {}",
            layout.relative_display(set.folder())
        );
        let RecoveredOperations { store, entries, .. } = kept;
        return Ok(Some(RebuildSource {
            store,
            entries,
            journal_is_good: false,
            from,
            lost: None,
        }));
    }
    Ok(None)
}

/// Returns the mirror, or the one of an earlier version that git tracks, as long as there is no other.
pub(crate) fn mirror_for_recovery(layout: &Layout) -> Mirror {
    let mirror = Mirror::new(&layout.mirror);
    match &layout.former_mirror {
        Some(former) if mirror.store_id().is_none() => Mirror::new(former),
        _ => mirror,
    }
}

/// Recovers from the mirror, as one operation that adds every mirrored node.
fn recover_from_mirror(
    layout: &Layout,
    now: Timestamp,
) -> Result<Option<RebuildSource>, StoreFault> {
    let mirror = mirror_for_recovery(layout);
    let Some(contents) = mirror
        .read_contents()
        .map_err(|error| io_fault("cannot read", &layout.mirror, error))?
    else {
        return Ok(None);
    };
    let store = contents.store.clone();
    // Named one by one: a user who edited a file by hand has to learn that this cost the approval.
    let odd: Vec<String> = contents
        .nodes
        .iter()
        .filter(|mirrored| !mirrored.intact)
        .map(|mirrored| format!("{} was edited (its approval is dropped)", mirrored.path))
        .chain(
            contents
                .unreadable
                .iter()
                .map(|file| format!("{file} cannot be read")),
        )
        .collect();
    let mut operation = NewOperation {
        at: now,
        by: Principal::System,
        channel: Channel::System,
        verb: Verb::Rebuild,
        summary: format!(
            "rebuild {} from the mirror",
            count_with_noun(contents.nodes.len(), "node", "nodes")
        ),
        key: None,
        texts: read_unchanged_texts(layout, &contents),
        facts: mirrored_node_facts(contents, now),
    };
    // Plan files and mirror files may hold secrets that were never masked.
    mask_operation(&mut operation, &MemoryState::new(store.clone()))?;
    let entry = ChainedOperation::new(OperationId(1), chain_start_hash(&store), operation)?;
    let lost = (!odd.is_empty()).then(|| odd.join("; "));
    Ok(Some(RebuildSource {
        store,
        entries: vec![entry],
        journal_is_good: false,
        from: "mirror".to_owned(),
        lost,
    }))
}

/// Reads the plan files whose text is still the mirrored version: the mirror itself holds no texts.
fn read_unchanged_texts(layout: &Layout, contents: &MirrorContents) -> Vec<String> {
    let Ok(files) = DiskFiles::open(&layout.root) else {
        return Vec::new();
    };
    // The project's own limit is not known here; a larger plan only loses its text of this version.
    let max_bytes = Policy::default().max_plan_bytes;
    contents
        .nodes
        .iter()
        .filter_map(
            |mirrored| match files.read_file(mirrored.node.path.as_deref()?, max_bytes) {
                FileReadResult::Text { text, .. } => Some((mirrored, text)),
                FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
            },
        )
        .filter(|(mirrored, text)| {
            mirrored.node.content.version_hash() == Some(VersionHash::of_bytes(text.as_bytes()))
        })
        .map(|(_, text)| text)
        .collect()
}

/// Returns the facts that add the mirrored nodes and derive their statuses.
fn mirrored_node_facts(contents: MirrorContents, now: Timestamp) -> Vec<Fact> {
    let nodes = contents.into_unique_nodes();
    let tree = Tree::new(nodes.iter().cloned());
    let mut facts: Vec<Fact> = nodes
        .into_iter()
        .map(|node| Fact::NodeAdded {
            node: Box::new(node),
        })
        .collect();
    let occasion = CascadeContext {
        operation: OperationId(1),
        now,
        note: None,
    };
    for top in tree.root_nodes() {
        // Deep enough for any tree: a rebuild must not leave statuses below a depth limit
        // untouched.
        let depth = Policy::default().cascade_max_depth.max(64);
        // A node that was settled under a different parent text was spared by a precise cascade;
        // judging it again would mark it stale.
        let moved = |child: &StatusInputs| child.standing.status == Status::RequiresRevalidation;
        // The mirror holds no policy. A pinned one is recorded again afterwards and judges every
        // status.
        let rules = StatusRules {
            approval: ApprovalPolicy::Anyone,
            moved: &moved,
        };
        let groups = reevaluate_subtree(
            &tree.subtree_status_inputs(top.id),
            &HashMap::new(),
            occasion,
            depth,
            rules,
        );
        if let Ok(groups) = groups
            && !groups.is_empty()
        {
            facts.push(Fact::StandingsChanged { groups });
        }
    }
    facts
}

/// Returns the paths of the database and SQLite's companion files.
pub(crate) fn database_file_paths(database: &Path) -> [PathBuf; 3] {
    DATABASE_SUFFIXES.map(|ending| with_suffix(database, ending))
}

/// Acquires the lock under which one process at a time creates, rebuilds or replaces a state.
pub(crate) fn acquire_rebuild_lock(layout: &Layout) -> Result<File, StoreFault> {
    let path = layout.home.join("rebuild.lock");
    // Longer than the wait for the write lock: the holder may be rebuilding a long history.
    acquire_file_lock(&path, Duration::from_secs(30))
        .map_err(|error| io_fault("cannot lock", &path, error))?
        .ok_or(StoreFault::Locked { holder: None })
}
