//! The number of the last operation, kept up to date by one thread where the store tells of news by itself.
//!
//! However many clients wait, the shared database is listened to once.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use domain::ids::OperationId;
use domain::ports::{Store, StoreFault};

/// How long the thread listens before it looks whether anybody still wants to know.
const TURN: Duration = Duration::from_secs(5);

/// How long it waits before it tries again to reach a store that cannot be.
const AGAIN: Duration = Duration::from_millis(500);

/// Opens a store for the thread.
pub(crate) type Opening = Box<dyn Fn() -> Result<Box<dyn Store>, StoreFault> + Send>;

/// The last operation, as it was last heard of; nothing while the store cannot be heard.
#[derive(Default)]
pub(crate) struct Watch {
    head: Mutex<Option<OperationId>>,
}

impl Watch {
    /// Starts to listen; the thread ends when nobody holds what is returned.
    pub(crate) fn start(open: Opening) -> Arc<Self> {
        let watch = Arc::new(Self::default());
        let weak = Arc::downgrade(&watch);
        // Without a thread everyone looks for themselves.
        let _ = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || listen(&weak, &open));
        watch
    }

    /// Returns the last operation, if it is known.
    pub(crate) fn head(&self) -> Option<OperationId> {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, head: Option<OperationId>) {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
    }
}

fn listen(watching: &Weak<Watch>, open: &Opening) {
    let mut store: Option<Box<dyn Store>> = None;
    // Not held while it listens, so that the last one to want it can let it go.
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
