//! Where everything lies in a project.

use std::path::{Path, PathBuf};

use domain::ports::StoreFault;
use domain::settings::{DatabaseUrl, OfflinePolicy, ServerAddress, Settings};

use crate::durable::{Durability, replace};
use crate::engine::io_fault;

/// The paths of one project's state.
#[derive(Clone, Debug)]
pub struct Layout {
    pub root: PathBuf,
    pub home: PathBuf,
    pub database: PathBuf,
    pub journal: PathBuf,
    pub mirror: PathBuf,
    pub lock: PathBuf,
    /// Notes of the JSON engine.
    pub notes: PathBuf,
    /// Vectors of the memory's entries: a cache, made again where it is missing.
    pub vectors: PathBuf,
    /// Where damaged files are put aside.
    pub damaged: PathBuf,
    pub log: PathBuf,
    /// Where the shared database is, and what the project is called there.
    pub shared: Option<Shared>,
    /// Names this working copy to a shared store.
    pub place: PathBuf,
    /// The team server the state is on; what is here is a replica of it.
    pub server: Option<ServerAddress>,
    /// What is done while it does not answer.
    pub offline: OfflinePolicy,
}

/// A project in a shared database.
#[derive(Clone, Debug)]
pub struct Shared {
    pub url: DatabaseUrl,
    /// What it is called there.
    pub project: String,
    /// Which one it is; `None` for a project that was made before they had ids.
    pub id: Option<String>,
}

/// The folder that makes a directory a project.
pub(crate) const HOME: &str = ".throughline";

impl Layout {
    /// Returns the layout of the project at `root`.
    #[must_use]
    pub fn new(root: &Path, settings: &Settings) -> Self {
        let home = root.join(HOME);
        let server = settings.server.address.clone();
        // Apart from a state of this machine's own, which stays as it is.
        let replica = server.as_ref().map(|_| home.join("remote"));
        Self {
            root: root.to_owned(),
            database: replica.as_ref().map_or_else(
                || root.join(&settings.database),
                |folder| folder.join("state.db"),
            ),
            journal: replica.as_ref().unwrap_or(&home).join("journal.jsonl"),
            server,
            offline: settings.server.offline,
            mirror: root.join(&settings.mirror.directory),
            lock: home.join("lock"),
            notes: home.join("notes.json"),
            vectors: home.join("vectors.bin"),
            damaged: home.join("damaged"),
            log: root.join(&settings.log_file),
            shared: settings.database_url.is_given().then(|| Shared {
                url: settings.database_url.clone(),
                project: project_name(root, &settings.database_project),
                id: Some(settings.project_id.trim().to_owned()).filter(|id| !id.is_empty()),
            }),
            place: home.join("place"),
            home,
        }
    }

    /// Returns this project with its state elsewhere.
    #[must_use]
    pub fn in_database(&self, url: DatabaseUrl, project: &str) -> Self {
        let id = self.shared.as_ref().and_then(|shared| shared.id.clone());
        Self {
            shared: Some(Shared {
                url,
                project: project_name(&self.root, project),
                id,
            }),
            ..self.clone()
        }
    }

    /// Returns this project under an id in the shared database.
    #[must_use]
    pub fn with_project_id(mut self, id: &str) -> Self {
        if let Some(shared) = &mut self.shared {
            shared.id = Some(id.to_owned());
        }
        self
    }

    /// Returns the name of this working copy, making one when there is none.
    pub(crate) fn working_copy(&self) -> Result<String, StoreFault> {
        let is_name = |text: &str| {
            (1..=64).contains(&text.len())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        if let Ok(text) = std::fs::read_to_string(&self.place)
            && is_name(text.trim())
        {
            return Ok(text.trim().to_owned());
        }
        let name = uuid::Uuid::new_v4().to_string();
        replace(
            &self.place,
            format!("{name}\n").as_bytes(),
            Durability::Atomic,
        )
        .map_err(|error| io_fault("cannot write", &self.place, error))?;
        Ok(name)
    }

    /// Returns the nearest directory at or above `start` that is a project.
    #[must_use]
    pub fn find_root(start: &Path) -> Option<PathBuf> {
        start
            .ancestors()
            .find(|directory| directory.join(HOME).is_dir())
            .map(Path::to_owned)
    }

    /// Shows a path relative to the project.
    #[must_use]
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}

/// Returns what a project is called in a shared database.
fn project_name(root: &Path, given: &str) -> String {
    let directory = || {
        root.file_name().map_or_else(
            || "project".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    };
    if given.is_empty() {
        directory()
    } else {
        given.to_owned()
    }
}
