//! Rebuilding a damaged or missing state: from the journal, else from the mirror.
//!
//! Damaged files are put aside, never deleted, and the user is told what was used.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::cascade::{Occasion, reevaluate};
use domain::fact::Fact;
use domain::ids::{OperationId, Principal, StoreId, VersionHash};
use domain::node::Status;
use domain::operation::{Channel, Verb};
use domain::planning_prompt::count;
use domain::policy::Policy;
use domain::ports::{NewOperation, PlanFiles, Reading, Recovery, Store, StoreFault};
use domain::secrets::mask_operation;
use domain::settings::Storage;
use domain::status::Footing;
use domain::time::Timestamp;
use domain::tree::Tree;
use rustix::fs::{FlockOperation, flock};

use crate::durable::put_aside;
use crate::engine::{EngineSettings, Recorded, io_fault};
use crate::journal::{Journal, JournalEntry, chain_start};
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::memory::MemoryState;
use crate::mirror::{Mirror, MirrorContents};
use crate::plan_files::DiskFiles;
use crate::postgres::PostgresStore;
use crate::sqlite::SqliteStore;
use crate::tables::access::{Book, BookContents, Desk};

/// Whether state from elsewhere may be taken over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trust<'k> {
    /// Only what this user made or adopted.
    Known(&'k KnownStores),
    /// The user just said so.
    Adopted,
}

/// What a rebuild starts from.
struct Source {
    store: StoreId,
    entries: Vec<JournalEntry>,
    /// The journal as it is may stay.
    journal_is_good: bool,
    from: &'static str,
    lost: Option<String>,
}

/// Puts what is damaged aside and builds the state anew. `what` says why.
pub(crate) fn rebuild(
    layout: &Layout,
    storage: Storage,
    what: &str,
    trust: Trust<'_>,
    now: Timestamp,
) -> Result<Vec<Recovery>, StoreFault> {
    let _lock = rebuild_lock(layout)?;
    if storage == Storage::Postgres {
        return rebuild_shared(layout, what, trust);
    }
    // Another process may have mended it while we waited for the lock; or only the journal is damaged.
    if storage == Storage::Sqlite
        && let Ok(store) = SqliteStore::open(layout, &EngineSettings::default())
        && store.mend_if_sound()?
    {
        return Ok(store.take_recoveries());
    }
    let source = match from_journal(layout)? {
        Some(source) => source,
        None => from_mirror(layout, now)?.ok_or(StoreFault::Missing)?,
    };
    if let Trust::Known(known) = trust
        && !known.knows(&source.store)
    {
        return Err(StoreFault::Foreign { store: source.store });
    }

    let mut put = Vec::new();
    let journal = Journal::at(&layout.journal);
    let journal_size = if source.journal_is_good {
        journal.size().ok().flatten().unwrap_or(0)
    } else {
        if journal.path().exists() {
            put.push(aside(layout, journal.path())?);
        }
        let lines =
            source.entries.iter().map(|entry| Recorded::from(entry.clone()).line()).collect::<Result<Vec<_>, _>>()?;
        journal.write_whole(&source.store, &lines).map_err(|error| io_fault("cannot write", journal.path(), error))?
    };
    if storage == Storage::Sqlite {
        let book = book_contents(layout, storage, |id| *id == source.store);
        for file in database_files(&layout.database) {
            if file.exists() {
                put.push(aside(layout, &file)?);
            }
        }
        SqliteStore::build(layout, &source.store, &source.entries, journal_size)?;
        put_book(layout, storage, &book)?;
    }

    let operations = count(source.entries.len(), "operation", "operations");
    let mut message = format!("{what}; rebuilt from the {} ({operations})", source.from);
    if !put.is_empty() {
        message.push_str(&format!("; what was there is in {}", put.join(", ")));
    }
    if let Some(lost) = source.lost {
        message.push_str(&format!("; {lost}"));
    }
    Ok(vec![Recovery { message }])
}

/// Returns what the book of tokens says, as far as it can still be read: no journal could bring it back. That of a
/// store that is not trusted says nothing: its tokens would let strangers in.
pub(crate) fn book_contents(layout: &Layout, storage: Storage, is_ours: impl Fn(&StoreId) -> bool) -> BookContents {
    let settings = EngineSettings::default();
    let read = |id: StoreId, book: &dyn Desk| match is_ours(&id) {
        true => Book(book).contents(),
        false => Ok(BookContents::default()),
    };
    let contents = match storage {
        Storage::Sqlite => SqliteStore::open(layout, &settings).and_then(|store| read(store.id()?, &store)),
        Storage::Postgres => PostgresStore::open(layout, &settings).and_then(|store| read(store.id()?, &store)),
        // Those who work with a server come in there.
        Storage::Json | Storage::Remote => Ok(BookContents::default()),
    };
    contents.unwrap_or_default()
}

/// Puts it into the state that took the place of the old one.
pub(crate) fn put_book(layout: &Layout, storage: Storage, contents: &BookContents) -> Result<(), StoreFault> {
    let settings = EngineSettings { mirror: false, ..EngineSettings::default() };
    match storage {
        Storage::Sqlite => Book(&SqliteStore::open(layout, &settings)?).put(contents),
        Storage::Postgres => Book(&PostgresStore::open(layout, &settings)?).put(contents),
        Storage::Json | Storage::Remote => Ok(()),
    }
}

/// The tables of a shared database, from its operations.
fn rebuild_shared(layout: &Layout, what: &str, trust: Trust<'_>) -> Result<Vec<Recovery>, StoreFault> {
    let store = PostgresStore::open(layout, &EngineSettings::default())?;
    let id = store.id()?;
    if let Trust::Known(known) = trust
        && !known.knows(&id)
    {
        return Err(StoreFault::Foreign { store: id });
    }
    let operations = count(store.rebuild_tables()?, "operation", "operations");
    Ok(vec![Recovery { message: format!("{what}; rebuilt from the operations in the database ({operations})") }])
}

/// The journal, and from the database what a broken journal lacks.
fn from_journal(layout: &Layout) -> Result<Option<Source>, StoreFault> {
    let journal = Journal::at(&layout.journal);
    if journal.size().map_err(|error| io_fault("cannot read", journal.path(), error))?.is_none() {
        return Ok(None);
    }
    let contents = journal.read_all().map_err(|error| io_fault("cannot read", journal.path(), error))?;
    let Some(store) = contents.store else { return Ok(None) };
    let mut entries = contents.entries;
    let Some(damage) = contents.damage else {
        return Ok(Some(Source { store, entries, journal_is_good: true, from: "journal", lost: None }));
    };
    let (after, prev) =
        entries.last().map_or((OperationId(0), chain_start(&store)), |entry| (entry.operation.id, entry.hash));
    let salvaged = SqliteStore::salvage(layout, &EngineSettings::default(), after, prev);
    let from = if salvaged.is_empty() { "journal" } else { "journal and the database" };
    entries.extend(salvaged);
    let lost = (!damage.torn).then(|| {
        format!(
            "journal line {} was damaged ({}): operations after {} could only be taken from the database",
            damage.line, damage.what, after
        )
    });
    Ok(Some(Source { store, entries, journal_is_good: false, from, lost }))
}

/// The mirror, as one operation that adds every node it knows.
fn from_mirror(layout: &Layout, now: Timestamp) -> Result<Option<Source>, StoreFault> {
    let mirror = Mirror::new(&layout.mirror);
    let Some(contents) = mirror.read().map_err(|error| io_fault("cannot read", &layout.mirror, error))? else {
        return Ok(None);
    };
    let store = contents.store.clone();
    let odd: Vec<String> = contents
        .nodes
        .iter()
        .filter(|mirrored| !mirrored.intact)
        .map(|mirrored| format!("{} was edited (its approval is not taken)", mirrored.path))
        .chain(contents.unreadable.iter().map(|file| format!("{file} cannot be read")))
        .collect();
    let mut operation = NewOperation {
        at: now,
        by: Principal::System,
        channel: Channel::System,
        verb: Verb::Rebuild,
        summary: format!("rebuild {} from the mirror", count(contents.nodes.len(), "node", "nodes")),
        key: None,
        texts: texts_on_disk(layout, &contents),
        facts: mirror_facts(contents, now),
    };
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
    Ok(Some(Source { store, entries: vec![entry], journal_is_good: false, from: "mirror", lost }))
}

/// The mirror holds no texts; the present ones are in the plan files, where they are still the same.
fn texts_on_disk(layout: &Layout, contents: &MirrorContents) -> Vec<String> {
    let Ok(files) = DiskFiles::open(&layout.root) else { return Vec::new() };
    let max_bytes = Policy::default().max_plan_bytes;
    contents
        .nodes
        .iter()
        .filter_map(|mirrored| match files.read(mirrored.node.path.as_deref()?, max_bytes) {
            Reading::Text { text, .. } => Some((mirrored, text)),
            Reading::Missing | Reading::Unreadable { .. } => None,
        })
        .filter(|(mirrored, text)| mirrored.node.content.version() == Some(VersionHash::of(text.as_bytes())))
        .map(|(_, text)| text)
        .collect()
}

fn mirror_facts(contents: MirrorContents, now: Timestamp) -> Vec<Fact> {
    let nodes = contents.into_nodes();
    let tree = Tree::new(nodes.iter().cloned());
    let mut facts: Vec<Fact> = nodes.into_iter().map(|node| Fact::NodeAdded { node: Box::new(node) }).collect();
    let occasion = Occasion { operation: OperationId(1), now, note: None };
    for top in tree.tops() {
        let depth = Policy::default().cascade_max_depth.max(64);
        // What was settled although its parent differs was left so by a precise cascade.
        let moved = |child: &Footing, _, _| child.standing.status == Status::RequiresRevalidation;
        let groups = reevaluate(&tree.footings(top.id), &HashMap::new(), occasion, depth, &moved);
        if let Ok(groups) = groups
            && !groups.is_empty()
        {
            facts.push(Fact::StandingsChanged { groups });
        }
    }
    facts
}

/// Returns the database and what SQLite keeps beside it.
pub(crate) fn database_files(database: &Path) -> [PathBuf; 3] {
    let beside = |ending: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    [database.to_owned(), beside("-wal"), beside("-shm")]
}

/// Puts a file aside and returns where it is, for people.
pub(crate) fn aside(layout: &Layout, path: &Path) -> Result<String, StoreFault> {
    put_aside(path, &layout.damaged)
        .map(|target| layout.relative(&target))
        .map_err(|error| io_fault("cannot put aside", path, error))
}

/// One process at a time makes or rebuilds a store.
pub(crate) fn rebuild_lock(layout: &Layout) -> Result<File, StoreFault> {
    let path = layout.home.join("rebuild.lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| io_fault("cannot write", &path, error))?;
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => return Err(StoreFault::Locked { holder: None }),
        }
    }
}
