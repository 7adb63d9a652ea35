//! The tree as the pages show it: kept between requests, brought up to date by the operations since, and the files looked
//! at often enough that what an editor wrote is seen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use application::tree_cache::{CachedTree, record_file_changes};
use application::{Context, Failure, Workspace};
use domain::ids::Principal;
use domain::operation::Channel;

/// An edited file is no operation before someone looks at it: after this long everything is looked at again.
pub(crate) const FRESH: Duration = Duration::from_secs(2);
/// After this long whoever asks waits for the look; until then it is made beside the answer.
const STALE: Duration = Duration::from_secs(10);
/// A look at so few files is made for every answer: it costs hardly more than the answer.
const FEW: usize = 500;

/// What is known of the tree.
pub(crate) struct Lookout {
    seen: Arc<Seen>,
    /// Where looks at many files are asked for, each with whom to tell.
    looker: OnceLock<Sender<Sender<()>>>,
}

struct Seen {
    workspace: Arc<dyn Workspace>,
    /// Replaced as a whole, never changed: who reads it keeps nobody waiting.
    known: Mutex<Option<Arc<CachedTree>>>,
    /// When the last look began.
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

    /// Looks at the files, and brings the tree up to date.
    fn look(&self) {
        let begun = Instant::now();
        // What cannot be read now is read the next time; what is recorded is shown meanwhile.
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

    /// Returns the tree with what was recorded since, and keeps it.
    fn follow(&self, ctx: &Context<'_>) -> Result<Arc<CachedTree>, Failure> {
        let next = match self.known() {
            Some(known) => known.catch_up(ctx)?,
            None => Arc::new(CachedTree::read(ctx)?),
        };
        let mut kept = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have got further meanwhile.
        if !kept.as_ref().is_some_and(|kept| kept.is_after(&next)) {
            *kept = Some(next.clone());
        }
        Ok(next)
    }

    /// Makes the looks that are asked for, one for all who wait, until nobody can ask any more.
    fn serve(&self, asked: &Receiver<Sender<()>>) {
        while let Ok(first) = asked.recv() {
            let waiting: Vec<Sender<()>> = std::iter::once(first).chain(asked.try_iter()).collect();
            self.is_asked_for.store(false, Ordering::SeqCst);
            self.look();
            // Who does not wait any more need not hear it.
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

    /// Looks at the files, and waits for it.
    pub(crate) fn look(&self) {
        if self.seen.has_few() {
            self.seen.look();
        } else {
            // An error means that the look broke off; the next one may not.
            let _ = self.ask_for_a_look().recv();
        }
    }

    /// Looks at the files where that was not done lately; at many of them beside the answer, if it can be helped.
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

    /// Asks the one thread that looks at many files: every thread that did it would keep the memory it takes.
    fn ask_for_a_look(&self) -> Receiver<()> {
        let (done, heard) = channel();
        let looker = self.looker.get_or_init(|| {
            let (looker, asked) = channel();
            let seen = self.seen.clone();
            // Without a thread nobody listens, and who asks is told so at once.
            let _ = std::thread::Builder::new()
                .name("look".to_owned())
                .spawn(move || {
                    give_way();
                    seen.serve(&asked);
                });
            looker
        });
        let _ = looker.send(done);
        heard
    }

    /// Runs a use case on the tree as it is recorded now. Waits for a disk.
    pub(crate) fn ask<T>(
        &self,
        mut use_case: impl FnMut(&Context<'_>, &CachedTree) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.look_if_due();
        let seen = &self.seen;
        seen.workspace
            .run_use_case(Channel::Web, &seen.workspace.local_person(), &mut |ctx| {
                use_case(ctx, &*seen.follow(ctx)?)
            })
    }
}

/// Lets whoever waits for an answer go before this thread.
fn give_way() {
    // Elsewhere it would be the whole process that steps back.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
}
