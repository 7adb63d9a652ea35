//! What is offered, tried without any protocol: the same values that clients get.

#![allow(clippy::unwrap_used, clippy::string_slice, clippy::disallowed_methods, reason = "a failing test may panic")]

mod lists;
mod reading;
mod tools;

use std::path::Path;
use std::sync::{Arc, Mutex};

use application::{Context, Failure};
use domain::ids::Principal;
use domain::operation::Channel;
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::{Clock, Store};
use domain::profile::{Profile, built_in};
use domain::settings::{Settings, Storage};
use mcp::surface::{Called, Surface, Workspace};
use serde_json::Value;
use store::{DiskFiles, EngineSettings, KnownStores, Layout, SystemClock};

/// A project on disk with its store open.
pub(crate) struct World {
    folder: tempfile::TempDir,
    store: Mutex<Box<dyn Store>>,
    profiles: Vec<Profile>,
    policy: Policy,
}

impl World {
    pub(crate) fn story() -> Arc<Self> {
        Self::with(Policy::default())
    }

    pub(crate) fn where_people_approve() -> Arc<Self> {
        Self::with(Policy { approval: ApprovalPolicy::Human, ..Policy::default() })
    }

    fn with(policy: Policy) -> Arc<Self> {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), &Settings::default());
        let known = KnownStores::in_directory(&folder.path().join("user"));
        store::create(&layout, Storage::Sqlite, &known).unwrap();
        let settings = EngineSettings::default();
        let (store, _) = store::open(&layout, Storage::Sqlite, &settings, &known, None, SystemClock.now()).unwrap();
        Arc::new(Self { folder, store: Mutex::new(store), profiles: vec![built_in("story").unwrap()], policy })
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

impl Workspace for World {
    fn run(
        &self,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let store = self.store.lock().unwrap();
        let files = DiskFiles::open(self.folder.path()).unwrap();
        let clock = SystemClock;
        use_case(&Context::new(&**store, &files, &clock, &self.profiles, &self.policy, actor.clone(), Channel::Mcp))
    }

    fn head(&self) -> Result<u64, Failure> {
        Ok(self.store.lock().unwrap().read()?.head()?.0)
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

pub(crate) const ACT: &str = "acts/act-1/strategic-plan.md";
pub(crate) const CHAPTER: &str = "acts/act-1/chapters/chapter-01/plan.md";

pub(crate) fn agent() -> Principal {
    Principal::Agent { host: "test".to_owned(), session: "1".to_owned() }
}

pub(crate) fn surface(world: &Arc<World>) -> Surface {
    Surface::new(world.clone(), None, false).unwrap()
}

/// Calls a tool that must succeed.
#[track_caller]
pub(crate) fn done(surface: &Surface, name: &str, arguments: Value) -> Value {
    match surface.call(&agent(), name, &arguments) {
        Called::Done(value) => value,
        other => panic!("{name} {arguments}: {other:?}"),
    }
}

/// Calls a tool that must fail, and returns its error.
#[track_caller]
pub(crate) fn failed(surface: &Surface, name: &str, arguments: Value) -> Value {
    match surface.call(&agent(), name, &arguments) {
        Called::Failed(value) => value["error"].clone(),
        other => panic!("{name} {arguments}: {other:?}"),
    }
}
