//! The tree as the pages show it: kept between requests, brought up to date by the operations since, and the files looked
//! at often enough that what an editor wrote is seen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use application::known_tree::{KnownTree, look_at_files};
use application::{Context, Failure, FailureKind, Workspace};
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
    known: RwLock<Option<KnownTree>>,
    /// When the last look began.
    looked_at: Mutex<Option<Instant>>,
    is_asked_for: AtomicBool,
}

impl Seen {
    fn known(&self) -> RwLockReadGuard<'_, Option<KnownTree>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the files, and brings the tree up to date.
    fn look(&self) {
        let begun = Instant::now();
        // What cannot be read now is read the next time; what is recorded is shown meanwhile.
        let _ = self.workspace.ask(Channel::Web, &Principal::System, &mut look_at_files);
        let _ = self.workspace.ask(Channel::Web, &Principal::System, &mut |ctx| self.follow(ctx));
        *self.looked_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    /// Takes over what was recorded since.
    fn follow(&self, ctx: &Context<'_>) -> Result<(), Failure> {
        let mut kept = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Taken out meanwhile: a tree that could not be brought up to date is not kept.
        let known = match kept.take() {
            Some(mut known) => known.follow(ctx).map(|()| known)?,
            None => KnownTree::read(ctx)?,
        };
        *kept = Some(known);
        Ok(())
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
            known: RwLock::default(),
            looked_at: Mutex::default(),
            is_asked_for: AtomicBool::default(),
        };
        Self { seen: Arc::new(seen), looker: OnceLock::new() }
    }

    /// Looks at the files, and waits for it.
    pub(crate) fn look(&self) {
        if self.seen.known().as_ref().is_some_and(|known| known.size() <= FEW) {
            self.seen.look();
        } else {
            // An error means that the look broke off; the next one may not.
            let _ = self.ask_for_a_look().recv();
        }
    }

    /// Looks at the files where that was not done lately; at many of them beside the answer, if it can be helped.
    fn look_if_due(&self) {
        let is_small = self.seen.known().as_ref().is_some_and(|known| known.size() <= FEW);
        let age = self.seen.looked_at.lock().unwrap_or_else(PoisonError::into_inner).map(|at| at.elapsed());
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
            let _ = std::thread::Builder::new().name("look".to_owned()).spawn(move || seen.serve(&asked));
            looker
        });
        let _ = looker.send(done);
        heard
    }

    /// Runs a use case on the tree as it is recorded now. Waits for a disk.
    pub(crate) fn ask<T>(
        &self,
        mut use_case: impl FnMut(&Context<'_>, &KnownTree) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.look_if_due();
        let seen = &self.seen;
        seen.workspace.ask(Channel::Web, &seen.workspace.person(), &mut |ctx| {
            if let Some(known) = &*seen.known()
                && known.is_up_to_date(ctx)?
            {
                return use_case(ctx, known);
            }
            seen.follow(ctx)?;
            match &*seen.known() {
                Some(known) => use_case(ctx, known),
                None => Err(Failure::new(FailureKind::Unavailable, "the tree cannot be read just now")),
            }
        })
    }
}
