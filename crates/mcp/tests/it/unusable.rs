//! A surface that needs no project: whatever needs the state fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use application::{Context, Failure, FailureKind};
use domain::ids::Principal;
use domain::policy::Policy;
use domain::profile::{self, Profile};
use mcp::surface::{Surface, Workspace};

/// A project whose state cannot be used.
struct Unusable {
    profiles: Vec<Profile>,
    policy: Policy,
    /// Whether using it is a mistake of ours.
    panics: bool,
    head: AtomicU64,
}

impl Workspace for Unusable {
    fn run(&self, _: &Principal, _: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
        assert!(!self.panics, "a mistake, on purpose");
        Err(Failure::new(FailureKind::Unavailable, "the state cannot be used").step("try again"))
    }

    fn head(&self) -> Result<u64, Failure> {
        Ok(self.head.fetch_add(1, Ordering::Relaxed))
    }

    fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn person(&self) -> Principal {
        Principal::Human("mara".to_owned())
    }
}

/// Returns what is offered on it.
pub(crate) fn surface(panics: bool) -> Surface {
    let profiles = vec![profile::built_in("story").expect("the story profile")];
    let workspace = Unusable { profiles, policy: Policy::default(), panics, head: AtomicU64::new(1) };
    Surface::new(Arc::new(workspace), None, false).expect("a surface")
}
