//! The projects of one server process, for the switcher in the header and the inbox over all of them.
//!
//! Each has a port, and so an origin, a cookie and tokens of its own: a page of one project cannot read
//! another. Prefixes in the path were rejected, because all projects would share one origin.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use domain::notification::WaitingItem;

use crate::Dashboard;

/// One project of the process.
#[derive(Clone)]
struct ServedProject {
    name: String,
    dashboard: Dashboard,
    address: Arc<OnceLock<SocketAddr>>,
    /// The start-up token, which signs a browser in that has shown that of another project.
    token: Option<String>,
}

/// What a page shows of a project.
pub(crate) struct ProjectSummary {
    pub(crate) name: String,
    pub(crate) is_here: bool,
    /// What waits in it; `None` if its state cannot be read.
    pub(crate) waiting: Option<Vec<WaitingItem>>,
}

/// The projects of a server process, listed by name.
#[derive(Clone, Default)]
pub struct ServedProjects(Arc<Mutex<Vec<ServedProject>>>);

impl ServedProjects {
    /// Adds a project, and returns where its address is put once it is bound. A second project of the
    /// same name gets a number.
    #[must_use]
    pub fn add(&self, dashboard: &Dashboard, token: Option<String>) -> Arc<OnceLock<SocketAddr>> {
        let mut projects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |name: &str| projects.iter().any(|one| one.name == name);
        let base = dashboard.project_name().to_owned();
        let mut name = base.clone();
        let mut number = 2;
        while same(&name) {
            name = format!("{base} {number}");
            number += 1;
        }
        let address = Arc::<OnceLock<SocketAddr>>::default();
        projects.push(ServedProject {
            name,
            dashboard: dashboard.clone(),
            address: address.clone(),
            token,
        });
        address
    }

    fn list(&self) -> Vec<ServedProject> {
        // Copied out of the lock: reading what waits in them takes long.
        let mut projects = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        // Projects are added by threads that start at the same time, in any order.
        projects.sort_by(|one, other| one.name.cmp(&other.name));
        projects
    }

    /// Returns the names of the projects and whether each is the one of `here`; empty if there is only
    /// that one.
    pub(crate) fn list_names(&self, here: &Dashboard) -> Vec<(String, bool)> {
        let projects = self.list();
        if projects.len() < 2 {
            return Vec::new();
        }
        // By identity, since two projects may have the same name. Clones of a dashboard share
        // `live`.
        let is_here = |one: &ServedProject| Arc::ptr_eq(&one.dashboard.live, &here.live);
        projects
            .iter()
            .map(|one| (one.name.clone(), is_here(one)))
            .collect()
    }

    /// Returns what waits in each project. Blocks on I/O.
    pub(crate) fn list_waiting(&self, here: &Dashboard) -> Vec<ProjectSummary> {
        // A project whose state cannot be read must not hide what waits in the others.
        let summarise = |one: ServedProject| ProjectSummary {
            is_here: Arc::ptr_eq(&one.dashboard.live, &here.live),
            waiting: one.dashboard.list_waiting_items().ok(),
            name: one.name,
        };
        self.list().into_iter().map(summarise).collect()
    }

    /// Returns the URL of a page of a project; `signed_in` adds the token that signs the browser in.
    pub(crate) fn url_of(&self, name: &str, page: &str, signed_in: bool) -> Option<String> {
        let one = self.list().into_iter().find(|one| one.name == name)?;
        // Set once the port is bound; a project that is still starting has no address to link to.
        let address = one.address.get()?;
        // One slash only: `//host` would be another server.
        let page = page.trim_start_matches(['/', '\\']);
        let token = match (&one.token, signed_in) {
            (Some(token), true) if page.contains('?') => format!("&token={token}"),
            (Some(token), true) => format!("?token={token}"),
            _ => String::new(),
        };
        Some(format!("http://{address}/{page}{token}"))
    }
}
