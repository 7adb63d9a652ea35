//! The tree as the pages show it: kept between requests, brought up to date by the operations since, and the files looked
//! at often enough that what an editor wrote is seen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
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
    workspace: Arc<dyn Workspace>,
    known: RwLock<Option<KnownTree>>,
    /// When the last look began. Held while somebody looks and others want to wait for it.
    looked_at: Mutex<Option<Instant>>,
    is_looking: AtomicBool,
}

impl Lookout {
    pub(crate) fn of(workspace: Arc<dyn Workspace>) -> Arc<Self> {
        Arc::new(Self {
            workspace,
            known: RwLock::default(),
            looked_at: Mutex::default(),
            is_looking: AtomicBool::default(),
        })
    }

    fn known(&self) -> RwLockReadGuard<'_, Option<KnownTree>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the files where that was not done lately. Waits for a disk.
    pub(crate) fn look_if_due(self: &Arc<Self>) {
        let few = self.known().as_ref().is_none_or(|known| known.size() <= FEW);
        // Somebody who looks right now looks for us too, unless that is all there is.
        let age = match self.looked_at.try_lock() {
            Ok(looked_at) => looked_at.map(|at| at.elapsed()),
            Err(_) => Some(FRESH).filter(|_| !few),
        };
        match age {
            Some(age) if !few && age < FRESH => {}
            Some(age) if !few && age < STALE => {
                if !self.is_looking.swap(true, Ordering::SeqCst) {
                    let lookout = self.clone();
                    let begun = std::thread::Builder::new().name("look".to_owned()).spawn(move || {
                        lookout.look();
                        lookout.is_looking.store(false, Ordering::SeqCst);
                    });
                    if begun.is_err() {
                        self.is_looking.store(false, Ordering::SeqCst);
                    }
                }
            }
            _ => self.look(),
        }
    }

    /// Looks at the files. Those who ask at the same moment wait for one look, and do not all look.
    pub(crate) fn look(&self) {
        let asked = Instant::now();
        let mut looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        if looked_at.is_some_and(|at| at > asked) {
            return;
        }
        let begun = Instant::now();
        let look = || {
            // What cannot be read now is read the next time; what is recorded is shown meanwhile.
            let _ = self.workspace.ask(Channel::Web, &Principal::System, &mut look_at_files);
            let _ = self.workspace.ask(Channel::Web, &Principal::System, &mut |ctx| self.follow(ctx));
        };
        let is_small = self.known().as_ref().is_some_and(|known| known.size() <= FEW);
        if is_small {
            look();
        } else {
            // On a thread that ends: what a look at everything needs is needed once, and not by every thread that looks.
            std::thread::scope(|scope| scope.spawn(look).join().ok());
        }
        *looked_at = Some(begun);
    }

    /// Brings what is known of the tree up to date.
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

    /// Runs a use case on the tree as it is recorded now. Waits for a disk.
    pub(crate) fn ask<T>(
        self: &Arc<Self>,
        mut use_case: impl FnMut(&Context<'_>, &KnownTree) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.look_if_due();
        self.workspace.ask(Channel::Web, &self.workspace.person(), &mut |ctx| {
            if let Some(known) = &*self.known()
                && known.is_up_to_date(ctx)?
            {
                return use_case(ctx, known);
            }
            self.follow(ctx)?;
            match &*self.known() {
                Some(known) => use_case(ctx, known),
                None => Err(Failure::new(FailureKind::Unavailable, "the tree cannot be read just now")),
            }
        })
    }
}
