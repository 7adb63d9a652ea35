//! A surface that needs no project: whatever needs the state fails.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use application::{Context, Failure};
use domain::ids::Principal;
use domain::operation::Channel;
use domain::policy::Policy;
use domain::profile::{self, Profile};
use mcp::surface::{Surface, ToolSelection, Workspace};

/// A project whose state cannot be used.
struct Unusable {
    profiles: Arc<[Profile]>,
    /// Whether using it is a mistake of ours.
    panics: bool,
    head: AtomicU64,
    /// What the first call waits for.
    gate: Option<Arc<Gate>>,
}

/// Keeps the first call until it is opened.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<(bool, bool)>,
    opened: Condvar,
}

impl Gate {
    pub(crate) fn is_busy(&self) -> bool {
        self.state.lock().expect("no panic").0
    }

    pub(crate) fn open(&self) {
        self.state.lock().expect("no panic").1 = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().expect("no panic");
        if std::mem::replace(&mut state.0, true) {
            return;
        }
        drop(
            self.opened
                .wait_while(state, |(_, open)| !*open)
                .expect("no panic"),
        );
    }
}

impl Workspace for Unusable {
    fn run(
        &self,
        _: Channel,
        _: &Principal,
        _: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        assert!(!self.panics, "a mistake, on purpose");
        self.gate.iter().for_each(|gate| gate.pass());
        Err(Failure::unavailable("the state cannot be used").with_step("try again"))
    }

    fn head(&self) -> Result<u64, Failure> {
        Ok(self.head.fetch_add(1, Ordering::Relaxed))
    }

    fn profiles(&self) -> Arc<[Profile]> {
        self.profiles.clone()
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::default()
    }

    fn local_person(&self) -> Principal {
        Principal::Human("mara".to_owned())
    }
}

/// Returns what is offered on it.
pub(crate) fn surface(panics: bool) -> Surface {
    offered(panics, None)
}

/// Returns the same where the first call takes as long as the gate is closed.
pub(crate) fn surface_with_a_gate() -> (Surface, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    (offered(false, Some(gate.clone())), gate)
}

fn offered(panics: bool, gate: Option<Arc<Gate>>) -> Surface {
    let profiles = Arc::new([profile::built_in_profile("story").expect("the story profile")]);
    let workspace = Unusable {
        profiles,
        panics,
        head: AtomicU64::new(1),
        gate,
    };
    Surface::new(Arc::new(workspace), ToolSelection::default()).expect("a surface")
}
