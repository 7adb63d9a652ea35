//! Tests of the engines: the same story for each, and what they survive.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a failing test may panic"
)]

mod access;
mod damage;
mod engines;
mod git;
mod lock_holder;
mod mirror;
mod plan_files;
mod postgres;
mod remote;
mod schema;
mod search;

use std::path::Path;

use domain::ports::{Clock, Recovery, Store, StoreFault};
use domain::settings::{DatabaseUrl, Settings, Storage};
use store::{EngineSettings, KnownStores, Layout, SystemClock};

/// A project's state in a directory of its own.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    pub(crate) storage: Storage,
    settings: Settings,
}

impl Place {
    pub(crate) fn new(storage: Storage) -> Self {
        Self::with(storage, Settings::default())
    }

    /// A working copy of a project in a shared database.
    pub(crate) fn shared(url: &str, project: &str) -> Self {
        let (database_url, database_project) = (DatabaseUrl::new(url), project.to_owned());
        Self::with(
            Storage::Postgres,
            Settings {
                database_url,
                database_project,
                ..Settings::default()
            },
        )
    }

    fn with(storage: Storage, settings: Settings) -> Self {
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
            storage,
            settings,
        };
        store::create_store(&place.layout(), storage, &place.known()).unwrap();
        place
    }

    /// The same working copy, with the database at another address.
    pub(crate) fn at(mut self, url: &str) -> Self {
        self.settings.database_url = DatabaseUrl::new(url);
        self
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::new(self.root(), &self.settings)
    }

    pub(crate) fn known(&self) -> KnownStores {
        KnownStores::in_state_directory(&self.root().join("user"))
    }

    pub(crate) fn try_open(
        &self,
        damage: Option<&str>,
    ) -> Result<(Box<dyn Store>, Vec<Recovery>), StoreFault> {
        let settings = EngineSettings::default();
        store::open_store(
            &self.layout(),
            self.storage,
            &settings,
            &self.known(),
            damage,
            SystemClock.now(),
        )
    }

    pub(crate) fn open(&self) -> Box<dyn Store> {
        self.try_open(None).unwrap().0
    }
}
