//! Cache of the tree, updated by the facts of new operations, with periodic scans of the plan
//! files.
//!
//! A scan finds edits that no hook has reported. Small projects scan for every response; for large
//! ones a background thread does, and responses use the tree as it was a moment ago.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use application::tree_cache::{CachedTree, record_file_changes};
use application::{Context, Failure, Workspace};
use domain::ids::Principal;
use domain::operation::Channel;

/// Age after which the files are scanned again: an edited file becomes an operation only by a scan.
pub(crate) const FRESH: Duration = Duration::from_secs(2);
/// Age after which a response waits for the scan; until then it runs in the background.
const STALE: Duration = Duration::from_secs(10);
/// Maximum size of a project that is scanned for every response: that costs hardly more than the
/// response.
const FEW: usize = 500;

/// The cached tree with its scanner.
pub(crate) struct Lookout {
    seen: Arc<Seen>,
    /// Requests to the scanner thread, each with a channel for its completion.
    looker: OnceLock<Sender<Sender<()>>>,
}

struct Seen {
    workspace: Arc<dyn Workspace>,
    /// Replaced as a whole, never mutated: readers hold no lock while they use it.
    known: Mutex<Option<Arc<CachedTree>>>,
    /// When the last scan began.
    looked_at: Mutex<Option<Instant>>,
    is_asked_for: AtomicBool,
}

impl Seen {
    fn known(&self) -> Option<Arc<CachedTree>> {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn has_few(&self) -> bool {
        self.known().is_some_and(|known| known.node_count() <= FEW)
    }

    /// Scans the files and updates the tree.
    fn look(&self) {
        // The age counts from the beginning: an edit during the scan may have been missed by it.
        let begun = Instant::now();
        // Failures are ignored: the next scan tries again, and pages show the recorded state until
        // then.
        let _ =
            self.workspace
                .run_use_case(Channel::Web, &Principal::System, &mut record_file_changes);
        let _ = self
            .workspace
            .run_use_case(Channel::Web, &Principal::System, &mut |ctx| {
                self.follow(ctx).map(drop)
            });
        *self
            .looked_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    /// Returns the tree with the operations since, and caches it.
    fn follow(&self, ctx: &Context<'_>) -> Result<Arc<CachedTree>, Failure> {
        // Applying new operations costs what changed; reading the tree again costs its size.
        let next = match self.known() {
            Some(known) => known.catch_up(ctx)?,
            None => Arc::new(CachedTree::read(ctx)?),
        };
        let mut kept = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A concurrent request may have read more operations; the cache must not go back.
        if !kept.as_ref().is_some_and(|kept| kept.is_after(&next)) {
            *kept = Some(next.clone());
        }
        Ok(next)
    }

    /// Runs requested scans, one for all that wait, until the channel closes.
    fn serve(&self, asked: &Receiver<Sender<()>>) {
        while let Ok(first) = asked.recv() {
            // Requests that arrive during a scan get the next one: it must begin after they asked.
            let waiting: Vec<Sender<()>> = std::iter::once(first).chain(asked.try_iter()).collect();
            // Reset before the scan, so that an edit during it can request another.
            self.is_asked_for.store(false, Ordering::SeqCst);
            self.look();
            // A receiver that is gone has stopped waiting.
            for one in waiting {
                let _ = one.send(());
            }
        }
    }
}

impl Lookout {
    pub(crate) fn of(workspace: Arc<dyn Workspace>) -> Self {
        let seen = Seen {
            workspace,
            known: Mutex::default(),
            looked_at: Mutex::default(),
            is_asked_for: AtomicBool::default(),
        };
        Self {
            seen: Arc::new(seen),
            looker: OnceLock::new(),
        }
    }

    /// Scans the files and waits for the result.
    pub(crate) fn look(&self) {
        if self.seen.has_few() {
            self.seen.look();
        } else {
            // An error means that the scan panicked; the next one may succeed.
            let _ = self.ask_for_a_look().recv();
        }
    }

    /// Scans the files if the last scan is too old; in the background if there are many and the
    /// last scan is not older than [`STALE`].
    fn look_if_due(&self) {
        let is_small = self.seen.has_few();
        let age = self
            .seen
            .looked_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .map(|at| at.elapsed());
        match age {
            Some(age) if !is_small && age < FRESH => {}
            Some(age) if !is_small && age < STALE => {
                if !self.seen.is_asked_for.swap(true, Ordering::SeqCst) {
                    drop(self.ask_for_a_look());
                }
            }
            _ => self.look(),
        }
    }

    /// Requests a scan from the scanner thread. One thread for all of them, because the allocator
    /// keeps the memory of a large scan per thread.
    fn ask_for_a_look(&self) -> Receiver<()> {
        let (done, heard) = channel();
        let looker = self.looker.get_or_init(|| {
            let (looker, asked) = channel();
            let seen = self.seen.clone();
            // If the thread cannot be started, the channel closes and waiting ends at once.
            let _ = std::thread::Builder::new()
                .name("look".to_owned())
                .spawn(move || {
                    give_way();
                    seen.serve(&asked);
                });
            looker
        });
        // A closed channel drops `done`, so that the receiver returns at once instead of waiting.
        let _ = looker.send(done);
        heard
    }

    /// Runs a use case on the tree as recorded now. Blocks on I/O.
    pub(crate) fn ask<T>(
        &self,
        use_case: impl FnMut(&Context<'_>, &CachedTree) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.look_if_due();
        self.ask_recorded(use_case)
    }

    /// Like [`Self::ask`], as another principal than the local user.
    pub(crate) fn ask_as<T>(
        &self,
        who: &Principal,
        use_case: impl FnMut(&Context<'_>, &CachedTree) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.look_if_due();
        self.run_recorded(who, use_case)
    }

    /// Like [`Self::ask`], without a scan of the files.
    pub(crate) fn ask_recorded<T>(
        &self,
        use_case: impl FnMut(&Context<'_>, &CachedTree) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.run_recorded(&self.seen.workspace.local_person(), use_case)
    }

    fn run_recorded<T>(
        &self,
        who: &Principal,
        mut use_case: impl FnMut(&Context<'_>, &CachedTree) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let seen = &self.seen;
        seen.workspace.run_use_case(Channel::Web, who, &mut |ctx| {
            use_case(ctx, &*seen.follow(ctx)?)
        })
    }
}

/// Lowers the priority of the current thread below that of the requests.
fn give_way() {
    // Only on Linux: elsewhere `nice` applies to the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
}
