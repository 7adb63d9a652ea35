//! File layout of a project: the paths of its state, and where a shared or remote state is.
//!
//! Only computes paths; nothing is opened or created, except the name of the working copy.

use std::path::{Path, PathBuf};

use domain::ports::StoreFault;
use domain::settings::{DatabaseUrl, OfflinePolicy, ServerAddress, Settings};

use crate::durable::{Durability, replace_file};
use crate::engine::io_fault;

/// The paths of one project's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub root: PathBuf,
    pub home: PathBuf,
    pub database: PathBuf,
    pub journal: PathBuf,
    pub mirror: PathBuf,
    /// The mirror's folder of earlier versions, unless the settings choose one.
    pub former_mirror: Option<PathBuf>,
    pub lock: PathBuf,
    /// Notes of the JSON engine (session memory, overrides).
    pub notes: PathBuf,
    /// Embedding vectors of memory entries: a cache, regenerated when missing.
    pub vectors: PathBuf,
    /// Search index: a cache, regenerated when missing.
    pub search_index: PathBuf,
    /// Quarantine folder for damaged or replaced state.
    pub damaged: PathBuf,
    pub log: PathBuf,
    /// The project in a shared PostgreSQL database, if it is there.
    pub shared: Option<SharedProject>,
    /// File with the random name of this working copy in a shared store.
    pub place: PathBuf,
    /// The team server that has the state; the local database is then a replica.
    pub server: Option<ServerAddress>,
    /// Whether operations are queued or refused while the server is unreachable.
    pub offline: OfflinePolicy,
}

/// A project in a shared database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedProject {
    pub url: DatabaseUrl,
    /// Its name there.
    pub project: String,
    /// Its id; `None` for a project from before projects had ids.
    pub id: Option<String>,
}

/// The folder that marks a directory as a project.
pub const STATE_FOLDER: &str = ".throughline";

impl Layout {
    /// Returns the layout of the project at `root`.
    #[must_use]
    pub fn new(root: &Path, settings: &Settings) -> Self {
        let home = root.join(STATE_FOLDER);
        let server = settings.server.address.clone();
        // A replica gets a folder of its own, so that a local state from before `tl team join` survives
        // and `tl team leave` can return to it.
        let replica = server.as_ref().map(|_| home.join("remote"));
        let mirror = root.join(&settings.mirror.directory);
        Self {
            root: root.to_owned(),
            database: replica.as_ref().map_or_else(
                || root.join(&settings.database),
                |folder| folder.join("state.db"),
            ),
            journal: replica.as_ref().unwrap_or(&home).join("journal.jsonl"),
            server,
            offline: settings.server.offline,
            former_mirror: (mirror == home.join("mirror")).then(|| home.join("state")),
            mirror,
            lock: home.join("lock"),
            notes: home.join("notes.json"),
            vectors: home.join("vectors.bin"),
            search_index: home.join("search.db"),
            damaged: home.join("damaged"),
            log: root.join(&settings.log_file),
            shared: settings.database_url.is_set().then(|| SharedProject {
                url: settings.database_url.clone(),
                project: shared_project_name(root, &settings.database_project),
                id: Some(settings.project_id.trim().to_owned()).filter(|id| !id.is_empty()),
            }),
            place: home.join("place"),
            home,
        }
    }

    /// Returns the layout of this project with its state in another database.
    #[must_use]
    pub fn in_shared_database(&self, url: DatabaseUrl, project: &str) -> Self {
        let id = self.shared.as_ref().and_then(|shared| shared.id.clone());
        Self {
            shared: Some(SharedProject {
                url,
                project: shared_project_name(&self.root, project),
                id,
            }),
            ..self.clone()
        }
    }

    /// Returns this layout with another project id in the shared database.
    #[must_use]
    pub fn with_project_id(mut self, id: &str) -> Self {
        if let Some(shared) = &mut self.shared {
            shared.id = Some(id.to_owned());
        }
        self
    }

    /// Returns the name of this working copy, generating one on first use.
    pub(crate) fn load_working_copy_name(&self) -> Result<String, StoreFault> {
        // The file may have come with a repository: anything but our own form is replaced.
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
        replace_file(
            &self.place,
            format!("{name}\n").as_bytes(),
            Durability::Atomic,
        )
        .map_err(|error| io_fault("cannot write", &self.place, error))?;
        Ok(name)
    }

    /// Returns the nearest directory at or above `start` that is a project.
    #[must_use]
    pub fn find_project_root(start: &Path) -> Option<PathBuf> {
        start
            .ancestors()
            .find(|directory| directory.join(STATE_FOLDER).is_dir())
            .map(Path::to_owned)
    }

    /// Renders a path relative to the project root, for messages.
    #[must_use]
    pub fn relative_display(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}

/// Returns the name of a project in a shared database: the given one, or the directory's name.
fn shared_project_name(root: &Path, given: &str) -> String {
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
