//! Recovery: rebuilds a damaged or missing state from the journal, a quarantined state, or the
//! mirror.
//!
//! Tried in that order. Damaged files are quarantined, never deleted, and the returned notices name
//! the source that was used and what could not be recovered.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::cascade::{Occasion, reevaluate};
use domain::fact::Fact;
use domain::ids::{OperationId, Principal, StoreId, VersionHash};
use domain::node::Status;
use domain::operation::{Channel, Verb};
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::{NewOperation, PlanFiles, Reading, Recovery, Store, StoreFault};
use domain::secrets::mask_operation;
use domain::settings::Storage;
use domain::status::{Footing, JudgingRules};
use domain::text::count;
use domain::time::Timestamp;
use domain::tree::Tree;
use rustix::fs::{FlockOperation, flock};

use crate::engine::{EngineSettings, Recorded, io_fault};
use crate::journal::{Journal, JournalEntry, chain_start};
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::memory::MemoryState;
use crate::mirror::{Mirror, MirrorContents};
use crate::plan_files::DiskFiles;
use crate::postgres::PostgresStore;
use crate::quarantine::{self, KeptOperations, Manifest, QuarantineReason, quarantine_files};
use crate::replacement::{
    DATABASE_ENDINGS, RECOVERY, ReplacementCause, build_staged, finish_locked, refuse_newer,
    remove_staging, replace_locked, staged, with_ending,
};
use crate::sqlite::SqliteStore;
use crate::tables::access::{Book, BookContents, Desk};
use crate::transfer::{Cargo, load_journal};

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
    fn known(self) -> Option<&'k KnownStores> {
        match self {
            Self::Known(known) | Self::Adopted(known) => Some(known),
        }
    }
}

/// The source of a rebuild.
struct Source {
    store: StoreId,
    entries: Vec<JournalEntry>,
    /// The present journal is intact and stays.
    journal_is_good: bool,
    from: String,
    lost: Option<String>,
}

/// Quarantines the damaged state and rebuilds it. `what` is the reason, for the notice.
pub(crate) fn rebuild(
    layout: &Layout,
    storage: Storage,
    what: &str,
    trust: Trust<'_>,
    now: Timestamp,
) -> Result<Vec<Recovery>, StoreFault> {
    let _lock = rebuild_lock(layout)?;
    // An interrupted swap explains most missing states; rebuilding first would fork the history.
    let finished = finish_locked(layout, storage, trust.known())?;
    if storage == Storage::Postgres {
        return rebuild_shared(layout, what, trust);
    }
    if !finished.is_empty() && usable(layout, storage) {
        return Ok(finished);
    }
    // To this program a newer format looks like damage: never rebuild over it.
    refuse_newer(layout)?;
    // Another process may have repaired it while we waited for the lock, or only the journal is
    // damaged and can be rewritten from the database.
    if storage == Storage::Sqlite
        && let Ok(store) = SqliteStore::open(layout, &EngineSettings::default())
        && store.mend_if_sound()?
    {
        return Ok(finished
            .into_iter()
            .chain(store.take_recoveries())
            .collect());
    }
    let source = find_source(layout, storage, now)?;
    // Checked on the source, not on the damaged file: a cloned project without its database must
    // not become trusted by being rebuilt.
    if let Trust::Known(known) = trust
        && !known.knows(&source.store)
    {
        return Err(StoreFault::Foreign {
            store: source.store,
        });
    }
    if source.journal_is_good && storage == Storage::Json {
        return Ok(finished);
    }
    // API tokens are in no journal. Read before the database is moved away.
    let book = book_contents(layout, storage, |id| *id == source.store);
    let cargo = Cargo::new(
        source.store,
        source.entries.into_iter().map(Recorded::from).collect(),
    );
    let cause = ReplacementCause {
        command: RECOVERY,
        reason: QuarantineReason::Damaged,
        why: what.to_owned(),
        now,
    };
    // The simple path needs no recovery note, and so works with less free space.
    let quarantined = match source.journal_is_good {
        true => replace_database(layout, &cargo, &book, &cause)?,
        false => replace_locked(layout, storage, trust.known(), &cargo, &book, &cause)?,
    };

    let operations = count(cargo.recorded.len(), "operation", "operations");
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
fn usable(layout: &Layout, storage: Storage) -> bool {
    match storage {
        Storage::Json => load_journal(&Journal::at(&layout.journal)).is_ok(),
        _ => SqliteStore::open(layout, &EngineSettings::default())
            .and_then(|store| store.row())
            .is_ok_and(|row| !row.is_sealed()),
    }
}

/// Rebuilds only the database. The journal stays, so a kill at any moment leaves the source intact
/// and the next command starts over; no recovery note is needed.
fn replace_database(
    layout: &Layout,
    cargo: &Cargo,
    book: &BookContents,
    cause: &ReplacementCause<'_>,
) -> Result<Vec<String>, StoreFault> {
    build_staged(layout, Storage::Sqlite, cargo, book, false)
        .inspect_err(|_| remove_staging(layout))?;
    let manifest = Manifest::new(
        cause.now,
        cause.reason,
        &cause.why,
        Some(cargo.chain_head()),
    );
    let quarantined = quarantine_files(layout, &manifest, database_files(&layout.database))?;
    if let Some(folder) = layout.database.parent() {
        crate::private::create_directory(folder)
            .map_err(|error| io_fault("cannot create", folder, error))?;
    }
    let folder = layout.database.parent().unwrap_or(&layout.home);
    // The one step that matters: before it there is no database, after it a verified one.
    let installed = std::fs::rename(staged(layout).database, &layout.database)
        .and_then(|()| crate::durable::sync_folder(folder));
    remove_staging(layout);
    installed.map_err(|error| io_fault("cannot write", &layout.database, error))?;
    Ok(quarantined.into_iter().collect())
}

/// Returns the best source: the journal, a quarantined state, or the mirror.
fn find_source(layout: &Layout, storage: Storage, now: Timestamp) -> Result<Source, StoreFault> {
    if let Some(source) = from_journal(layout)? {
        return Ok(source);
    }
    if let Some(source) = from_quarantine(layout, storage)? {
        return Ok(source);
    }
    from_mirror(layout, now)?.ok_or(StoreFault::Missing)
}

/// Reads the token store as far as possible, because no journal can restore it. The tokens of an
/// untrusted store are dropped: they would authenticate strangers.
pub(crate) fn book_contents(
    layout: &Layout,
    storage: Storage,
    is_ours: impl Fn(&StoreId) -> bool,
) -> BookContents {
    let settings = EngineSettings::default();
    let read = |id: StoreId, book: &dyn Desk| match is_ours(&id) {
        true => Book(book).contents(),
        false => Ok(BookContents::default()),
    };
    let contents = match storage {
        Storage::Sqlite => {
            SqliteStore::open(layout, &settings).and_then(|store| read(store.id()?, &store))
        }
        Storage::Postgres => {
            PostgresStore::open(layout, &settings).and_then(|store| read(store.id()?, &store))
        }
        // A replica's users authenticate at the server, and the JSON engine has no token store.
        Storage::Json | Storage::Remote => Ok(BookContents::default()),
    };
    // A token store that is damaged, too, must not stop the recovery: tokens can be issued again.
    contents.unwrap_or_default()
}

/// Writes the token store into the state that replaces the old one.
pub(crate) fn put_book(
    layout: &Layout,
    storage: Storage,
    contents: &BookContents,
) -> Result<(), StoreFault> {
    let settings = EngineSettings {
        mirror: false,
        ..EngineSettings::default()
    };
    match storage {
        Storage::Sqlite => Book(&SqliteStore::open(layout, &settings)?).put(contents),
        Storage::Postgres => Book(&PostgresStore::open(layout, &settings)?).put(contents),
        Storage::Json | Storage::Remote => Ok(()),
    }
}

/// Rebuilds the tables of a shared database from its operations.
fn rebuild_shared(
    layout: &Layout,
    what: &str,
    trust: Trust<'_>,
) -> Result<Vec<Recovery>, StoreFault> {
    let store = PostgresStore::open(layout, &EngineSettings::default())?;
    let id = store.id()?;
    if let Trust::Known(known) = trust
        && !known.knows(&id)
    {
        return Err(StoreFault::Foreign { store: id });
    }
    let operations = count(store.rebuild_tables()?, "operation", "operations");
    Ok(vec![Recovery {
        message: format!("{what}; rebuilt from the operations in the database ({operations})"),
    }])
}

/// Recovers from the journal, and from the database what a broken journal lacks.
fn from_journal(layout: &Layout) -> Result<Option<Source>, StoreFault> {
    let Some(kept) = KeptOperations::read(layout)? else {
        return Ok(None);
    };
    // A damaged database without its journal may yield only the first operations; the mirror has
    // every node.
    if !layout.journal.exists() && !kept.is_whole() {
        return Ok(None);
    }
    let after = kept.head().operation.0 - kept.salvaged as u64;
    let lost = kept.damage.as_ref().filter(|damage| !damage.torn).map(|damage| {
        format!(
            "journal line {} was damaged ({}): operations after {after} could only be taken from the database",
            damage.line, damage.what
        )
    });
    let KeptOperations {
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
    Ok(Some(Source {
        store,
        entries,
        journal_is_good,
        from: from.to_owned(),
        lost,
    }))
}

/// Recovers from the newest complete quarantined state, unless the mirror is ahead of it: then it
/// would undo decisions made since.
fn from_quarantine(layout: &Layout, storage: Storage) -> Result<Option<Source>, StoreFault> {
    // A replica fetches what it lacks from its server.
    if layout.server.is_some() {
        return Ok(None);
    }
    let mirror = Mirror::new(&layout.mirror).head();
    for set in quarantine::sets(layout)? {
        let manifest = set.manifest();
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
            .operations(layout)?
            .filter(|kept| kept.is_whole() && !kept.entries.is_empty())
        else {
            continue;
        };
        let head = kept.head();
        if mirror
            .as_ref()
            // Another store or a higher operation: this set is older than what the project had
            // last.
            .is_some_and(|(store, operation)| *store != head.store || *operation > head.operation)
        {
            continue;
        }
        let from = format!("quarantined journal in {}", layout.relative(set.folder()));
        let KeptOperations { store, entries, .. } = kept;
        return Ok(Some(Source {
            store,
            entries,
            journal_is_good: false,
            from,
            lost: None,
        }));
    }
    Ok(None)
}

/// Recovers from the mirror, as one operation that adds every mirrored node.
fn from_mirror(layout: &Layout, now: Timestamp) -> Result<Option<Source>, StoreFault> {
    let mirror = Mirror::new(&layout.mirror);
    let Some(contents) = mirror
        .read()
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
            count(contents.nodes.len(), "node", "nodes")
        ),
        key: None,
        texts: texts_on_disk(layout, &contents),
        facts: mirror_facts(contents, now),
    };
    // Plan files and mirror files may hold secrets that were never masked.
    mask_operation(&mut operation, &MemoryState::new(store.clone()))?;
    let recorded = Recorded::new(OperationId(1), chain_start(&store), operation)?;
    let entry = JournalEntry {
        operation: recorded.operation,
        body: recorded.body,
        texts: recorded.texts,
        prev: recorded.prev,
        hash: recorded.hash,
    };
    let lost = (!odd.is_empty()).then(|| odd.join("; "));
    Ok(Some(Source {
        store,
        entries: vec![entry],
        journal_is_good: false,
        from: "mirror".to_owned(),
        lost,
    }))
}

/// Reads the plan files whose text is still the mirrored version: the mirror itself holds no texts.
fn texts_on_disk(layout: &Layout, contents: &MirrorContents) -> Vec<String> {
    let Ok(files) = DiskFiles::open(&layout.root) else {
        return Vec::new();
    };
    // The project's own limit is not known here; a larger plan only loses its text of this version.
    let max_bytes = Policy::default().max_plan_bytes;
    contents
        .nodes
        .iter()
        .filter_map(
            |mirrored| match files.read(mirrored.node.path.as_deref()?, max_bytes) {
                Reading::Text { text, .. } => Some((mirrored, text)),
                Reading::Missing | Reading::Unreadable { .. } => None,
            },
        )
        .filter(|(mirrored, text)| {
            mirrored.node.content.version() == Some(VersionHash::of(text.as_bytes()))
        })
        .map(|(_, text)| text)
        .collect()
}

/// Returns the facts that add the mirrored nodes and derive their statuses.
fn mirror_facts(contents: MirrorContents, now: Timestamp) -> Vec<Fact> {
    let nodes = contents.into_nodes();
    let tree = Tree::new(nodes.iter().cloned());
    let mut facts: Vec<Fact> = nodes
        .into_iter()
        .map(|node| Fact::NodeAdded {
            node: Box::new(node),
        })
        .collect();
    let occasion = Occasion {
        operation: OperationId(1),
        now,
        note: None,
    };
    for top in tree.tops() {
        // Deep enough for any tree: a rebuild must not leave statuses below a depth limit
        // untouched.
        let depth = Policy::default().cascade_max_depth.max(64);
        // A node that was settled under a different parent text was spared by a precise cascade;
        // judging it again would mark it stale.
        let moved = |child: &Footing, _, _| child.standing.status == Status::RequiresRevalidation;
        // The mirror holds no policy. A pinned one is recorded again afterwards and judges every
        // status.
        let rules = JudgingRules {
            approval: ApprovalPolicy::Anyone,
            moved: &moved,
        };
        let groups = reevaluate(
            &tree.footings(top.id),
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
pub(crate) fn database_files(database: &Path) -> [PathBuf; 3] {
    DATABASE_ENDINGS.map(|ending| with_ending(database, ending))
}

/// Acquires the lock under which one process at a time creates, rebuilds or replaces a state.
pub(crate) fn rebuild_lock(layout: &Layout) -> Result<File, StoreFault> {
    let path = layout.home.join("rebuild.lock");
    let file = crate::private::open_options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| io_fault("cannot write", &path, error))?;
    // Longer than the wait for the write lock: the holder may be rebuilding a long history.
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => return Err(StoreFault::Locked { holder: None }),
        }
    }
}
