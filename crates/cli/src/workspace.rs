//! The project as a server works on it: one open store, every call one use case.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use application::{Context, Failure, FailureKind};
use domain::ids::Principal;
use domain::operation::Channel;
use domain::policy::Policy;
use domain::ports::Store;
use domain::profile::Profile;
use mcp::surface::Workspace;
use store::{DiskFiles, DiskGit, SystemClock};

use crate::session_name::session_name;
use crate::settings;
use crate::wiring::{App, Project};

/// A project with its store open.
pub(crate) struct Workplace {
    project: Project,
    /// Nothing while it could not be opened: the next call tries again.
    store: Mutex<Option<Box<dyn Store>>>,
}

impl Workplace {
    /// Opens the project a command was started in.
    pub(crate) fn open(app: &App) -> Result<Arc<Self>, Failure> {
        let project = app.project()?;
        let workplace = Self { project, store: Mutex::new(None) };
        workplace.opened(&mut workplace.held(), None).map(drop)?;
        Ok(Arc::new(workplace))
    }

    fn held(&self) -> MutexGuard<'_, Option<Box<dyn Store>>> {
        // A call that panicked left the store as it was: whatever it had begun was rolled back.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the store, opening it where it is not.
    fn opened<'s>(&self, held: &'s mut Option<Box<dyn Store>>, damage: Option<&str>) -> Result<&'s dyn Store, Failure> {
        let store = match held.take() {
            Some(store) if damage.is_none() => store,
            // A damaged one is closed before it is mended, or it keeps its locks.
            broken => {
                drop(broken);
                self.project.open_quietly(&self.project.engine_settings(), damage)?
            }
        };
        Ok(&**held.insert(store))
    }

    fn with(
        &self,
        store: &dyn Store,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let root = &self.project.root;
        let files = DiskFiles::open(root).map_err(|error| {
            Failure::new(FailureKind::Unavailable, format!("cannot open `{}`: {error}", root.display()))
        })?;
        let (clock, profiles, policy) = (SystemClock, &self.project.profiles, &self.project.settings.policy);
        let git = DiskGit::open(root);
        let session = session_name(actor, store);
        let ctx =
            Context::new(store, &files, &clock, profiles, policy, actor.clone(), Channel::Mcp).at_work(&git, session);
        let outcome = use_case(&ctx);
        store.take_recoveries().iter().for_each(|recovery| self.project.log(&recovery.message));
        outcome
    }
}

impl Workspace for Workplace {
    fn run(
        &self,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut held = self.held();
        let damage = match self.with(self.opened(&mut held, None)?, actor, use_case) {
            Err(Failure { damage: Some(what), .. }) => format!("the state was damaged ({what})"),
            other => return other,
        };
        self.with(self.opened(&mut held, Some(&damage))?, actor, use_case)
    }

    fn head(&self) -> Result<u64, Failure> {
        Ok(self.opened(&mut self.held(), None)?.read()?.head()?.0)
    }

    fn profiles(&self) -> &[Profile] {
        &self.project.profiles
    }

    fn policy(&self) -> &Policy {
        &self.project.settings.policy
    }

    fn person(&self) -> Principal {
        Principal::Human(settings::user_name())
    }
}
