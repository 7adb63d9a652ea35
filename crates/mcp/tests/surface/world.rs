//! A project in a directory of its own, with its store open.

use std::path::Path;
use std::sync::{Arc, Mutex};

use application::{Context, Failure};
use domain::ids::Principal;
use domain::operation::Channel;
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::{Clock, Store};
use domain::profile::{Profile, built_in_profile};
use domain::settings::{Settings, Storage};
use mcp::surface::Workspace;
use store::{DiskFiles, EngineSettings, KnownStores, Layout, ProcessRunner, SystemClock};

/// A project on disk with its store open.
pub(crate) struct World {
    folder: tempfile::TempDir,
    store: Mutex<Box<dyn Store>>,
    profiles: Mutex<Arc<[Profile]>>,
    policy: Arc<Policy>,
    /// Whether clients may have commands run, as over stdio; over HTTP they may not.
    runs_commands: bool,
}

impl World {
    pub(crate) fn story() -> Arc<Self> {
        Self::with(Policy::default())
    }

    /// A project with tickets, at a machine that runs commands.
    pub(crate) fn tickets() -> Arc<Self> {
        Self::of(Policy::default(), &["tickets"])
    }

    pub(crate) fn where_people_approve() -> Arc<Self> {
        Self::with(Policy {
            approval: ApprovalPolicy::Human,
            ..Policy::default()
        })
    }

    /// A project that keeps a trail, besides its story.
    pub(crate) fn with_trail() -> Arc<Self> {
        Self::of(Policy::default(), &["story", "trail"])
    }

    fn with(policy: Policy) -> Arc<Self> {
        Self::of(policy, &["story"])
    }

    /// A project with these profiles.
    pub(crate) fn with_profiles(profiles: &[&str]) -> Arc<Self> {
        Self::of(Policy::default(), profiles)
    }

    /// A project with these profiles behind a server, whose clients have no commands run.
    pub(crate) fn without_commands(profiles: &[&str]) -> Arc<Self> {
        Arc::new(Self {
            runs_commands: false,
            ..Self::new(Policy::default(), profiles)
        })
    }

    /// Runs the declared proofs of a node, as the person at the machine does.
    pub(crate) fn run_evidence(&self, node: &str) {
        let person = self.local_person();
        let most = std::time::Duration::from_secs(20);
        let mut run = |ctx: &Context<'_>| {
            application::evidence::run_evidence(ctx, &[node.to_owned()], most).map(drop)
        };
        self.run_as(Channel::Cli, &person, None, &mut run).unwrap();
    }

    fn of(policy: Policy, profiles: &[&str]) -> Arc<Self> {
        Arc::new(Self::new(policy, profiles))
    }

    fn new(policy: Policy, profiles: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), &Settings::default());
        let known = KnownStores::in_state_directory(&folder.path().join("user"));
        store::create_store(&layout, Storage::Sqlite, &known).unwrap();
        let settings = EngineSettings::default();
        let (store, _) = store::open_store(
            &layout,
            Storage::Sqlite,
            &settings,
            &known,
            None,
            SystemClock.now(),
        )
        .unwrap();
        Self {
            folder,
            store: Mutex::new(store),
            profiles: Mutex::new(load_profiles(profiles)),
            policy: Arc::new(policy),
            runs_commands: true,
        }
    }

    /// Enables other profiles, as another settings file does.
    pub(crate) fn enable(&self, profiles: &[&str]) {
        *self.profiles.lock().unwrap() = load_profiles(profiles);
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

fn load_profiles(names: &[&str]) -> Arc<[Profile]> {
    names
        .iter()
        .map(|name| built_in_profile(name).unwrap())
        .collect()
}

impl World {
    fn run_as(
        &self,
        channel: Channel,
        actor: &Principal,
        session: Option<&str>,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let store = self.store.lock().unwrap();
        let files = DiskFiles::open(self.folder.path()).unwrap();
        let (clock, commands) = (SystemClock, ProcessRunner::new(self.folder.path()));
        let profiles = self.profiles();
        let ctx = Context::new(
            &**store,
            &files,
            &clock,
            &profiles,
            &self.policy,
            actor.clone(),
            channel,
        );
        let mut ctx = match self.runs_commands || channel == Channel::Cli {
            true => ctx.with_commands(&commands),
            false => ctx,
        };
        if let Some(session) = session {
            session.clone_into(&mut ctx.session);
        }
        use_case(&ctx)
    }
}

impl Workspace for World {
    fn run(
        &self,
        channel: Channel,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.run_as(channel, actor, None, use_case)
    }

    fn run_in_session(
        &self,
        channel: Channel,
        actor: &Principal,
        session: &str,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.run_as(channel, actor, Some(session), use_case)
    }

    fn head(&self) -> Result<u64, Failure> {
        Ok(self
            .store
            .lock()
            .unwrap()
            .begin_read()?
            .last_operation_id()?
            .0)
    }

    fn profiles(&self) -> Arc<[Profile]> {
        self.profiles.lock().unwrap().clone()
    }

    fn policy(&self) -> Arc<Policy> {
        self.policy.clone()
    }

    fn local_person(&self) -> Principal {
        Principal::Human("mara".to_owned())
    }
}
