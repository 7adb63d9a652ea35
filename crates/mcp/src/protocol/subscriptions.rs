//! Resource subscriptions of one connection, in either era.
//!
//! Both are fed by [`Changes`]. A client of an older era has one listener, to which it adds URIs;
//! in the newest era every `subscriptions/listen` has its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext, SubscriptionSendError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::changes::{Change, Changes, Listening, WantedLists};

/// Subscriptions of one connection.
pub(super) struct Subscriptions {
    changes: Arc<Changes>,
    /// The listener of a client of an older era.
    listener: Mutex<Option<Listening>>,
    /// Subscriptions of the newest era that were accepted and whose stream has not begun.
    accepted: Mutex<Vec<Accepted>>,
}

/// A registered subscription whose client has not been told yet.
struct Accepted {
    requested: SubscriptionFilter,
    listening: Listening,
    changes: mpsc::UnboundedReceiver<Change>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscriptions {
    pub(super) fn new(changes: Arc<Changes>) -> Self {
        Self {
            changes,
            listener: Mutex::default(),
            accepted: Mutex::default(),
        }
    }

    /// Calls `then` with the listener of an older era's client, which is created on first use and
    /// forwards changes to `peer`.
    pub(super) fn with_listener(
        &self,
        peer: &Peer<RoleServer>,
        then: impl FnOnce(&Listening) -> bool,
    ) -> bool {
        // Held while the listener is created, so that two requests do not create two.
        let mut listener = lock(&self.listener);
        let listening = listener.get_or_insert_with(|| {
            let (listening, changes) = self.changes.listen(WantedLists::all(), []);
            // One task per connection: a slow client delays its own notifications only.
            tokio::spawn(forward_to_peer(changes, peer.clone()));
            listening
        });
        then(listening)
    }

    /// Registers a subscription of the newest era.
    ///
    /// This happens before the client is told that it is subscribed: a change between that message
    /// and a later registration would be lost.
    pub(super) fn accept(&self, requested: &SubscriptionFilter) {
        let uris = requested.resource_subscriptions.clone().unwrap_or_default();
        let wanted = WantedLists {
            resources: requested.resources_list_changed == Some(true),
            definitions: requested.tools_list_changed == Some(true)
                || requested.prompts_list_changed == Some(true),
        };
        let (listening, changes) = self.changes.listen(wanted, uris);
        lock(&self.accepted).push(Accepted {
            requested: requested.clone(),
            listening,
            changes,
        });
    }

    /// Forwards the changes of an accepted subscription until the client or the server ends it.
    /// Returns `false` if it was never accepted.
    pub(super) async fn forward(
        &self,
        context: SubscriptionContext,
        closing: &CancellationToken,
    ) -> bool {
        let accepted = {
            let mut accepted = lock(&self.accepted);
            // By filter, because the SDK passes no id from one callback to the other; equal filters
            // are interchangeable.
            let ours = accepted
                .iter()
                .position(|accepted| accepted.requested == *context.requested());
            ours.map(|index| accepted.swap_remove(index))
        };
        let Some(Accepted {
            // Kept until the stream ends: dropping it unregisters the listener.
            listening: _listening,
            mut changes,
            ..
        }) = accepted
        else {
            return false;
        };
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = context.cancelled() => None,
                // Otherwise the stream would keep the server from shutting down.
                () = closing.cancelled() => None,
            };
            let sent = match change {
                None => return true,
                Some(Change::List) => context.sink().notify_resource_list_changed().await,
                Some(Change::Content(uri)) => context.sink().notify_resource_updated(uri).await,
                Some(Change::Definitions) => notify_definitions(&context).await,
            };
            // The client is gone, which is the usual end of a stream and no error.
            if sent.is_err() {
                return true;
            }
        }
    }
}

/// Tells a client of the newest era that the lists it asked about changed.
async fn notify_definitions(context: &SubscriptionContext) -> Result<(), SubscriptionSendError> {
    let requested = context.requested();
    if requested.tools_list_changed == Some(true) {
        context.sink().notify_tool_list_changed().await?;
    }
    if requested.prompts_list_changed == Some(true) {
        context.sink().notify_prompt_list_changed().await?;
    }
    Ok(())
}

async fn forward_to_peer(mut changes: mpsc::UnboundedReceiver<Change>, peer: Peer<RoleServer>) {
    while let Some(change) = changes.recv().await {
        let sent = match change {
            Change::List => peer.notify_resource_list_changed().await,
            Change::Definitions => match peer.notify_tool_list_changed().await {
                Ok(()) => peer.notify_prompt_list_changed().await,
                failed => failed,
            },
            Change::Content(uri) => {
                peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri))
                    .await
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
