//! Two callers at once, made deterministic: one acts after the other has read and before it may write.

use std::sync::{Arc, Mutex};

use application::handle_host_event::{EventContext, handle_host_event};
use application::move_focus::{FocusMove, move_focus};
use domain::host_event::{Happening, Host, HostEvent, ToolCall, ToolKind};
use domain::ids::{Digest32, Principal, StoreId};
use domain::ports::{Clock, NoRepository, Snapshot, Store, StoreFault, StoreFinding, Transaction};
use domain::session_state::{SessionState, WorkState};
use store::MemoryStore;
use testkit::FakeClock;

use crate::world::{World, words};

type Act = Box<dyn FnOnce(&MemoryStore) + Send>;

/// A store in which another writer acts right before the next writer gets the write lock.
struct Interleaved {
    inner: Arc<MemoryStore>,
    before_write: Arc<Mutex<Option<Act>>>,
}

impl Store for Interleaved {
    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        self.inner.begin_read()
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        if let Some(act) = self.before_write.lock().unwrap().take() {
            act(&self.inner);
        }
        self.inner.begin_write()
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        self.inner.verify_integrity()
    }

    fn finish_mirror(&self) {}

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        self.inner.sync_mirror()
    }
}

fn work_state(store: &MemoryStore) -> WorkState {
    let note = store
        .begin_read()
        .unwrap()
        .load_note(&SessionState::note_key("s"))
        .unwrap();
    SessionState::from_note(note.as_deref()).work
}

/// The first edit of a session at a ticket: the reply carries the ticket, and it is noted that it was given.
fn edit(world: &World) -> bool {
    let call = ToolCall {
        id: None,
        name: "Write".to_owned(),
        kind: ToolKind::Write,
        touches: Vec::new(),
        command: None,
        says: None,
    };
    let event = HostEvent {
        host: Host::ClaudeCode,
        name: "PreToolUse".to_owned(),
        session: "s".to_owned(),
        turn: None,
        agent: None,
        directory: None,
        happening: Happening::ToolAboutToRun(call),
    };
    let person = Principal::Human("Ада".to_owned());
    let files = ["src/a.rs".to_owned()];
    let surroundings = EventContext {
        person: &person,
        plans: &[],
        files: &files,
        faults: None,
        missed: &[],
        host_process: None,
        may_have_news: false,
    };
    let handled = handle_host_event(
        &world
            .ctx()
            .with_git_and_session(&NoRepository, "s".to_owned()),
        &event,
        &surroundings,
    );
    handled.unwrap().reply.context.is_some()
}

#[test]
fn session_state_written_by_a_parallel_call_survives_a_gate_that_read_it_before() {
    let (inner, before_write) = (
        Arc::new(MemoryStore::new(StoreId("test".to_owned()))),
        Arc::new(Mutex::new(None::<Act>)),
    );
    let store = Interleaved {
        inner: inner.clone(),
        before_write: before_write.clone(),
    };
    let world = World {
        store: Box::new(store),
        ..World::with_tickets()
    };
    move_focus(
        &world.ctx(),
        &FocusMove::Enter {
            node: words("017a"),
            claim: false,
        },
    )
    .unwrap();
    let noted = Digest32::of_bytes(b"noted by the other call");
    *before_write.lock().unwrap() = Some(Box::new(move |store: &MemoryStore| {
        let mut tx = store.begin_write().unwrap();
        let mut session = SessionState::default();
        session.work.followed_up = Some(noted);
        let body = session.to_note();
        tx.save_note(
            &SessionState::note_key("s"),
            Some(&body),
            FakeClock::default().now(),
        )
        .unwrap();
        tx.commit().unwrap();
    }));
    assert!(edit(&world), "the ticket is given with the edit");
    let memory = work_state(&inner);
    assert_eq!(
        memory.followed_up,
        Some(noted),
        "the other call's note is lost"
    );
    assert_eq!(memory.guided.len(), 1, "and so is this one's");
    assert!(
        before_write.lock().unwrap().is_none(),
        "the calls did interleave"
    );
    assert!(!edit(&world), "given once");
}
