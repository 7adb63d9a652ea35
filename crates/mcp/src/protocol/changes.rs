//! Change detection for resource subscriptions, by polling.
//!
//! One thread per process polls the number of the last operation while there are listeners. Polling
//! sees changes of every process on the project, and of other machines with a shared store;
//! notifications within this process would miss them. It feeds the subscriptions of both eras.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use application::{Context, Failure};
use domain::fact::Fact;
use domain::ids::{Digest32, Principal};
use tokio::sync::mpsc;

use crate::surface::Surface;

/// Polling interval of the last operation's number: one cheap read.
const LOOK: Duration = Duration::from_millis(200);
/// Interval at which subscribed resources are read in any case: an edited file becomes an operation
/// only when something scans it.
const READ: Duration = Duration::from_secs(2);
/// Maximum number of new operations that are inspected; beyond it the list counts as changed.
const MAX_OPERATIONS: u64 = 200;
/// Maximum number of URIs per connection.
pub(super) const MAX_URIS: usize = 1_000;

/// A change for listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The content of the resource at this URI.
    Content(String),
    /// The list of resources; possibly a false positive.
    List,
    /// The lists of tools and prompts.
    Definitions,
}

/// What a listener wants to be told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WantedLists {
    pub(super) resources: bool,
    pub(super) definitions: bool,
}

impl WantedLists {
    /// Everything, as a client of an older era is told.
    pub(super) fn all() -> Self {
        Self {
            resources: true,
            definitions: true,
        }
    }
}

/// Result of the last poll.
struct Seen {
    /// Version of the definitions of tools and prompts.
    definitions: u64,
    head: Option<u64>,
    read_at: Instant,
}

/// Registry of listeners, with the polling thread.
pub(super) struct Changes {
    surface: Surface,
    state: Mutex<State>,
    /// Wakes the thread when the last listener leaves.
    left: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    listeners: BTreeMap<u64, Listener>,
    /// Digest of the last content per subscribed URI; `None` if there was no resource.
    known: BTreeMap<String, Option<Digest32>>,
    watching: bool,
}

struct Listener {
    wanted: WantedLists,
    uris: BTreeSet<String>,
    out: mpsc::UnboundedSender<Change>,
}

/// A registered listener; dropping it unregisters it.
pub(super) struct Listening {
    changes: Arc<Changes>,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut state = self.changes.held();
        state.listeners.remove(&self.id);
        state.forget_unwanted();
        if state.listeners.is_empty() {
            self.changes.left.notify_all();
        }
    }
}

impl State {
    fn forget_unwanted(&mut self) {
        let wanted: BTreeSet<&String> = self
            .listeners
            .values()
            .flat_map(|listener| &listener.uris)
            .collect();
        let unwanted: Vec<String> = self
            .known
            .keys()
            .filter(|uri| !wanted.contains(uri))
            .cloned()
            .collect();
        for uri in unwanted {
            self.known.remove(&uri);
        }
    }

    fn tell(&self, change: &Change) {
        let wants = |listener: &&Listener| match change {
            Change::Content(uri) => listener.uris.contains(uri),
            Change::List => listener.wanted.resources,
            Change::Definitions => listener.wanted.definitions,
        };
        // The receiver may be gone already; its registration follows in `drop`.
        self.listeners
            .values()
            .filter(wants)
            .for_each(|listener| drop(listener.out.send(change.clone())));
    }
}

impl Changes {
    pub(super) fn of(surface: Surface) -> Arc<Self> {
        Arc::new(Self {
            surface,
            state: Mutex::default(),
            left: Condvar::new(),
        })
    }

    fn held(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a listener for lists, for some URIs, or for both.
    pub(super) fn listen(
        self: &Arc<Self>,
        wanted: WantedLists,
        uris: impl IntoIterator<Item = String>,
    ) -> (Listening, mpsc::UnboundedReceiver<Change>) {
        // Unbounded, because `tell` sends while it holds the lock and must not wait for a slow
        // client. A message is an address or less, and one per change.
        let (out, heard) = mpsc::unbounded_channel();
        // In its own scope: `add` below takes the lock again.
        let id = {
            let mut state = self.held();
            let id = state.next;
            state.next += 1;
            state.listeners.insert(
                id,
                Listener {
                    wanted,
                    uris: BTreeSet::new(),
                    out,
                },
            );
            id
        };
        let listening = Listening {
            changes: self.clone(),
            id,
        };
        for uri in uris {
            listening.add(uri);
        }
        self.watch();
        (listening, heard)
    }

    /// Starts the polling thread, unless it runs.
    fn watch(self: &Arc<Self>) {
        if std::mem::replace(&mut self.held().watching, true) {
            return;
        }
        // Read before the thread starts, so that changes until its first poll count as new.
        let seen = Seen {
            definitions: self.surface.definitions_version(),
            head: self.head(),
            read_at: Instant::now(),
        };
        let changes = self.clone();
        // A thread, not a task: reading resources blocks on the store.
        let started = std::thread::Builder::new()
            .name("changes".to_owned())
            .spawn(move || changes.run(seen));
        if started.is_err() {
            self.held().watching = false;
        }
    }

    fn head(&self) -> Option<u64> {
        self.surface.workspace().head().ok()
    }

    fn run(&self, mut seen: Seen) {
        loop {
            let state = self.held();
            // A condition variable instead of a plain sleep: the thread ends as soon as the last
            // listener leaves.
            let (mut state, _) = self
                .left
                .wait_timeout_while(state, LOOK, |state| !state.listeners.is_empty())
                .unwrap_or_else(PoisonError::into_inner);
            if state.listeners.is_empty() {
                state.watching = false;
                return;
            }
            drop(state);
            // A panic costs one poll: without this, subscriptions would go silent until a restart.
            let _ = catch_unwind(AssertUnwindSafe(|| self.look(&mut seen)));
        }
    }

    fn look(&self, seen: &mut Seen) {
        let definitions = self.surface.definitions_version();
        if std::mem::replace(&mut seen.definitions, definitions) != definitions {
            self.held().tell(&Change::Definitions);
        }
        let now = self.head();
        let before = seen.head;
        // A failed read keeps the last number, so that the operations meanwhile are
        // inspected later.
        seen.head = now.or(before);
        let moved = now.is_some() && now != before;
        if moved && self.list_may_have_changed(before, now) {
            self.held().tell(&Change::List);
        }
        if moved || seen.read_at.elapsed() >= READ {
            seen.read_at = Instant::now();
            self.read_again();
        }
    }

    /// Reads the subscribed resources and notifies listeners of those that differ.
    fn read_again(&self) {
        let wanted: Vec<String> = self.held().known.keys().cloned().collect();
        for uri in wanted {
            // An unreadable resource counts as unchanged: the next poll compares again.
            let Ok(now) = self.mark(&uri) else { continue };
            // Locked only now: reading takes long, and `listen` must not wait for it.
            let mut state = self.held();
            let Some(known) = state.known.get_mut(&uri) else {
                continue;
            };
            if *known != now {
                *known = now;
                state.tell(&Change::Content(uri));
            }
        }
    }

    fn mark(&self, uri: &str) -> Result<Option<Digest32>, Failure> {
        Ok(self
            .surface
            .read(&Principal::System, uri)?
            .map(|content| Digest32::of_bytes(content.text.as_bytes())))
    }

    fn list_may_have_changed(&self, before: Option<u64>, now: Option<u64>) -> bool {
        let (Some(before), Some(now)) = (before, now) else {
            return true;
        };
        // A smaller number means another history: restored from a backup, or rebuilt.
        let Some(new) = now.checked_sub(before).filter(|new| *new <= MAX_OPERATIONS) else {
            return true;
        };
        let look = &mut |ctx: &Context<'_>| {
            Ok(ctx
                .store
                .begin_read()?
                .load_operations(None, usize::try_from(new).unwrap_or(0))?)
        };
        match self.surface.run(&Principal::System, look) {
            Ok(operations) => operations
                .iter()
                .flat_map(|operation| &operation.facts)
                .any(changes_list),
            // Unknown: a superfluous notification is harmless, a missing one is not.
            Err(_) => true,
        }
    }
}

/// Whether a fact adds a resource to the list, removes it or renames it.
fn changes_list(fact: &Fact) -> bool {
    match fact {
        Fact::NodeAdded { .. }
        | Fact::NodeRemoved { .. }
        | Fact::NodeRenamed { .. }
        | Fact::DescriptionChanged { .. } => true,
        // Only texts are listed: a plan without one appears with its first version.
        Fact::ContentChanged { before, after, .. } => {
            before.version_hash().is_some() != after.version_hash().is_some()
        }
        _ => false,
    }
}

impl Listening {
    /// Adds a URI; returns `false` beyond the limit.
    pub(super) fn add(&self, uri: String) -> bool {
        // The baseline is read before the URI is registered: whatever differs later is a change.
        let mark = self.changes.mark(&uri).ok().flatten();
        let mut state = self.changes.held();
        let Some(listener) = state.listeners.get_mut(&self.id) else {
            return false;
        };
        if listener.uris.len() >= MAX_URIS && !listener.uris.contains(&uri) {
            return false;
        }
        listener.uris.insert(uri.clone());
        // An older mark stays: other listeners have not been told of the difference yet.
        state.known.entry(uri).or_insert(mark);
        true
    }

    /// Removes a URI.
    pub(super) fn remove(&self, uri: &str) {
        let mut state = self.changes.held();
        if let Some(listener) = state.listeners.get_mut(&self.id) {
            listener.uris.remove(uri);
        }
        state.forget_unwanted();
    }
}
