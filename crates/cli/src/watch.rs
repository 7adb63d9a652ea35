//! Change listener: one thread that keeps the number of the last operation up to date, for stores
//! that push changes.
//!
//! One connection per process listens to the shared database, however many clients wait.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use domain::ids::OperationId;
use domain::ports::{Store, StoreFault};

/// How long one wait lasts before the thread checks whether it is still needed.
const TURN: Duration = Duration::from_secs(5);

/// Pause before reconnecting to an unreachable store.
const AGAIN: Duration = Duration::from_millis(500);

/// Opens a store for the listener thread.
pub(crate) type Opening = Box<dyn Fn() -> Result<Box<dyn Store>, StoreFault> + Send>;

/// The last known operation; `None` while the store is unreachable.
#[derive(Default)]
pub(crate) struct Watch {
    head: Mutex<Option<OperationId>>,
}

impl Watch {
    /// Starts the listener; its thread ends after the returned handle is dropped.
    pub(crate) fn start(open: Opening) -> Arc<Self> {
        let watch = Arc::new(Self::default());
        let weak = Arc::downgrade(&watch);
        // If no thread can be started, the head stays unknown and callers read the store.
        let _ = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || listen(&weak, &open));
        watch
    }

    /// Returns the last operation, if known.
    pub(crate) fn head(&self) -> Option<OperationId> {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, head: Option<OperationId>) {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
    }
}

fn listen(watching: &Weak<Watch>, open: &Opening) {
    let mut store: Option<Box<dyn Store>> = None;
    // Only a weak reference while waiting: a strong one would keep the listener alive forever.
    while let Some(known) = watching.upgrade().map(|watch| watch.head()) {
        let heard = match &store {
            Some(store) => store.await_change(
                known.unwrap_or_default(),
                if known.is_some() {
                    TURN
                } else {
                    Duration::ZERO
                },
            ),
            None => open().and_then(|opened| {
                store
                    .insert(opened)
                    .await_change(OperationId(0), Duration::ZERO)
            }),
        };
        let Some(watch) = watching.upgrade() else {
            return;
        };
        watch.tell(heard.as_ref().ok().copied());
        drop(watch);
        if heard.is_err() {
            store = None;
            std::thread::sleep(AGAIN);
        }
    }
}
