//! Change listener: one thread that keeps the number of the last operation up to date, for stores
//! that push changes.
//!
//! One connection per process listens to the shared database, however many clients wait.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use domain::ids::OperationId;
use domain::ports::{Store, StoreFault};

/// How long one wait lasts before the thread checks whether it is still needed.
const WAIT_INTERVAL: Duration = Duration::from_secs(5);

/// Pause before reconnecting to an unreachable store.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// Opens a store for the listener thread.
pub(crate) type OpenStore = Box<dyn Fn() -> Result<Box<dyn Store>, StoreFault> + Send>;

/// The last known operation; `None` while the store is unreachable.
#[derive(Default)]
pub(crate) struct HeadListener {
    head: Mutex<Option<OperationId>>,
}

impl HeadListener {
    /// Starts the listener; its thread ends after the returned handle is dropped.
    pub(crate) fn start_listener(open: OpenStore) -> Arc<Self> {
        let watch = Arc::new(Self::default());
        let weak = Arc::downgrade(&watch);
        // If no thread can be started, the head stays unknown and callers read the store.
        let _ = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || listen_for_changes(&weak, &open));
        watch
    }

    /// Returns the last operation, if known.
    pub(crate) fn last_operation(&self) -> Option<OperationId> {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_head(&self, head: Option<OperationId>) {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
    }
}

fn listen_for_changes(watching: &Weak<HeadListener>, open: &OpenStore) {
    let mut store: Option<Box<dyn Store>> = None;
    // Only a weak reference while waiting: a strong one would keep the listener alive forever.
    while let Some(known) = watching.upgrade().map(|watch| watch.last_operation()) {
        let heard = match &store {
            // An unknown number is asked for at once; a wait would leave callers to read the store.
            Some(store) => store.wait_for_change(
                known.unwrap_or_default(),
                if known.is_some() {
                    WAIT_INTERVAL
                } else {
                    Duration::ZERO
                },
            ),
            None => open().and_then(|opened| {
                store
                    .insert(opened)
                    .wait_for_change(OperationId(0), Duration::ZERO)
            }),
        };
        let Some(watch) = watching.upgrade() else {
            return;
        };
        watch.set_head(heard.as_ref().ok().copied());
        drop(watch);
        if heard.is_err() {
            // A connection that failed once may be half open; the next wait begins with a new one.
            store = None;
            std::thread::sleep(RECONNECT_DELAY);
        }
    }
}
