//! PostgreSQL for tests: a database of its own for each, in the cluster `./test` started or in one made for the test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use postgres::{Client, Config, NoTls};
use tempfile::TempDir;

/// A cluster of its own, gone with the test.
#[derive(Debug)]
pub struct Cluster {
    directory: TempDir,
    url: String,
}

impl Cluster {
    /// Makes and starts one.
    ///
    /// # Panics
    /// When PostgreSQL cannot be started.
    #[must_use]
    pub fn start() -> Self {
        let directory = TempDir::with_prefix("tl-postgres-").expect("a temporary directory");
        let said = script("start", &directory.path().join("cluster"));
        Self {
            directory,
            url: said.trim().to_owned(),
        }
    }

    /// Returns its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Kills it as a power cut would.
    pub fn crash(&self) {
        script("crash", &self.place());
    }

    /// Starts it again.
    pub fn again(&self) {
        script("again", &self.place());
    }

    /// Lets it speak to nobody unencrypted any more, as `localhost`; returns the file with whom to trust.
    #[must_use]
    pub fn encrypt(&self) -> PathBuf {
        script("encrypt", &self.place());
        self.place().join("authority.pem")
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join("cluster")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        script("stop", &self.place());
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start the database")]
fn script(verb: &str, directory: &Path) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/postgres.sh");
    let output = Command::new(script)
        .arg(verb)
        .arg(directory)
        .output()
        .expect("the script starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} {verb}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A database of its own.
#[derive(Debug)]
pub struct Database {
    admin: String,
    name: String,
    /// Without one in the environment.
    _cluster: Option<Cluster>,
}

static MADE: AtomicU32 = AtomicU32::new(0);

impl Database {
    /// Makes an empty one.
    ///
    /// # Panics
    /// When there is no PostgreSQL.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "where a cluster is, says `./test`"
    )]
    pub fn new() -> Self {
        let (admin, cluster) = match std::env::var("THROUGHLINE_TEST_POSTGRES") {
            Ok(url) if !url.is_empty() => (url, None),
            _ => {
                let cluster = Cluster::start();
                (cluster.url().to_owned(), Some(cluster))
            }
        };
        Self::made(admin, cluster)
    }

    /// Makes an empty one in a cluster that the test will do something to.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn on(cluster: &Cluster) -> Self {
        Self::made(cluster.url().to_owned(), None)
    }

    fn made(admin: String, cluster: Option<Cluster>) -> Self {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("tl_{}_{number}", std::process::id());
        connect(&admin)
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("a database");
        Self {
            admin,
            name,
            _cluster: cluster,
        }
    }

    /// Returns its address, for a user who may do everything.
    #[must_use]
    pub fn url(&self) -> String {
        let (before, _) = self.admin.rsplit_once('/').expect("an address");
        format!("{before}/{}", self.name)
    }

    /// Returns its address for a user to whom it belongs and who may do nothing else.
    ///
    /// # Panics
    /// When the user cannot be made.
    #[must_use]
    pub fn url_of_plain_user(&self) -> String {
        let Self { name, admin, .. } = self;
        let sql = format!(
            "CREATE ROLE {name} LOGIN PASSWORD 'пароль@{name}'; ALTER DATABASE {name} OWNER TO {name}"
        );
        connect(admin).batch_execute(&sql).expect("a user");
        let place = admin
            .rsplit_once('@')
            .and_then(|(_, place)| place.rsplit_once('/'))
            .expect("an address")
            .0;
        format!("postgres://{name}:%D0%BF%D0%B0%D1%80%D0%BE%D0%BB%D1%8C%40{name}@{place}/{name}")
    }

    /// Connects to it, to look or to damage.
    #[must_use]
    pub fn client(&self) -> Client {
        connect(&self.url())
    }
}

impl Default for Database {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Self { name, admin, .. } = self;
        // A cluster the test killed takes its databases with it.
        if let Ok(mut client) = admin.parse::<Config>().expect("an address").connect(NoTls) {
            let _ = client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
            let _ = client.batch_execute(&format!("DROP ROLE IF EXISTS {name}"));
        }
    }
}

fn connect(url: &str) -> Client {
    url.parse::<Config>()
        .and_then(|config| config.connect(NoTls))
        .expect("a connection")
}
