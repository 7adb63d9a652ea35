//! Who wants to hear of changes, and what changed.
//!
//! One thread per process looks at the number of the last operation while anyone listens; whoever made the change, and
//! in which process, makes no difference. Both eras' subscriptions are fed from here.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use application::{Context, Failure};
use domain::fact::Fact;
use domain::ids::{Digest32, Principal};
use tokio::sync::mpsc;

use crate::surface::Surface;

/// How often the number of the last operation is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How often what is subscribed to is read in any case: an edited file is no operation before someone looks at it.
const READ: Duration = Duration::from_secs(2);
/// More operations than this at once are not looked through.
const MOST_OPERATIONS: u64 = 200;
/// So much one connection may subscribe to.
const MOST_URIS: usize = 1_000;

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// What can be read at this URI.
    Content(String),
    /// The list of resources, or it may have.
    List,
}

/// What the last look saw.
struct Seen {
    head: Option<u64>,
    read_at: Instant,
}

/// Everyone who listens.
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
    /// What was last read at each URI somebody wants to hear of; `None` when nothing was there.
    known: BTreeMap<String, Option<Digest32>>,
    watching: bool,
}

struct Listener {
    list: bool,
    uris: BTreeSet<String>,
    out: mpsc::UnboundedSender<Change>,
}

/// A listener's place; it is free again when this is dropped.
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
            Change::List => listener.list,
        };
        // A listener that has just left need not hear it.
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

    /// Begins to listen: to the list, to some URIs, or to both.
    pub(super) fn listen(
        self: &Arc<Self>,
        list: bool,
        uris: impl IntoIterator<Item = String>,
    ) -> (Listening, mpsc::UnboundedReceiver<Change>) {
        let (out, heard) = mpsc::unbounded_channel();
        let id = {
            let mut state = self.held();
            let id = state.next;
            state.next += 1;
            state.listeners.insert(
                id,
                Listener {
                    list,
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
        for uri in uris.into_iter().take(MOST_URIS) {
            listening.add(uri);
        }
        self.watch();
        (listening, heard)
    }

    /// Starts the thread, unless it runs.
    fn watch(self: &Arc<Self>) {
        if std::mem::replace(&mut self.held().watching, true) {
            return;
        }
        // Read here: what changes from now on is new.
        let head = self.head();
        let changes = self.clone();
        let started = std::thread::Builder::new()
            .name("changes".to_owned())
            .spawn(move || changes.run(head));
        if started.is_err() {
            self.held().watching = false;
        }
    }

    fn head(&self) -> Option<u64> {
        self.surface.workspace().head().ok()
    }

    fn run(&self, head: Option<u64>) {
        let mut seen = Seen {
            head,
            read_at: Instant::now(),
        };
        loop {
            let state = self.held();
            let (mut state, _) = self
                .left
                .wait_timeout_while(state, LOOK, |state| !state.listeners.is_empty())
                .unwrap_or_else(PoisonError::into_inner);
            if state.listeners.is_empty() {
                state.watching = false;
                return;
            }
            drop(state);
            // A mistake of ours costs one look, not all that come after it.
            let _ = catch_unwind(AssertUnwindSafe(|| self.look(&mut seen)));
        }
    }

    fn look(&self, seen: &mut Seen) {
        let now = self.head();
        let before = seen.head;
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

    /// Reads what is subscribed to and tells of what is not as it was.
    fn read_again(&self) {
        let wanted: Vec<String> = self.held().known.keys().cloned().collect();
        for uri in wanted {
            // What cannot be read now has not changed.
            let Ok(now) = self.mark(&uri) else { continue };
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
        // A smaller number is another state altogether: rebuilt, or taken from elsewhere.
        let Some(new) = now
            .checked_sub(before)
            .filter(|new| *new <= MOST_OPERATIONS)
        else {
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
            Err(_) => true,
        }
    }
}

/// Says whether a fact puts something into the list, takes it out or calls it something else.
fn changes_list(fact: &Fact) -> bool {
    match fact {
        Fact::NodeAdded { .. } | Fact::NodeRemoved { .. } | Fact::DescriptionChanged { .. } => true,
        Fact::ContentChanged { before, after, .. } => {
            before.version_hash().is_some() != after.version_hash().is_some()
        }
        _ => false,
    }
}

impl Listening {
    /// Listens to one more URI. Says whether there was room for it.
    pub(super) fn add(&self, uri: String) -> bool {
        // Read before it is listened to: from here on, what is different is a change.
        let mark = self.changes.mark(&uri).ok().flatten();
        let mut state = self.changes.held();
        let Some(listener) = state.listeners.get_mut(&self.id) else {
            return false;
        };
        if listener.uris.len() >= MOST_URIS && !listener.uris.contains(&uri) {
            return false;
        }
        listener.uris.insert(uri.clone());
        state.known.entry(uri).or_insert(mark);
        true
    }

    /// Stops listening to a URI.
    pub(super) fn remove(&self, uri: &str) {
        let mut state = self.changes.held();
        if let Some(listener) = state.listeners.get_mut(&self.id) {
            listener.uris.remove(uri);
        }
        state.forget_unwanted();
    }
}
