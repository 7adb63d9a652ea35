//! Running the real program in a project of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory for one test, with a user directory of its own.
#[derive(Debug)]
pub struct Project {
    directory: TempDir,
    binary: PathBuf,
    environment: Vec<(String, String)>,
}

/// What the program printed and how it ended.
#[derive(Clone, Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// With `THROUGHLINE_TEST_STORAGE=postgres` every project's state is in the shared database of the tests.
#[expect(
    clippy::disallowed_methods,
    reason = "which engine is tested, says who runs the tests"
)]
fn shared(directory: &TempDir) -> Vec<(String, String)> {
    match (
        std::env::var("THROUGHLINE_TEST_STORAGE"),
        std::env::var("THROUGHLINE_TEST_POSTGRES"),
    ) {
        (Ok(storage), Ok(url)) if storage == "postgres" => [
            ("THROUGHLINE_STORAGE", storage),
            ("THROUGHLINE_DATABASE_URL", url),
            (
                "THROUGHLINE_DATABASE_PROJECT",
                directory.path().display().to_string(),
            ),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec(),
        _ => Vec::new(),
    }
}

impl Project {
    /// The act's file in [`Project::plan_story`].
    pub const ACT: &'static str = "acts/act-1/strategic-plan.md";
    /// The chapter's file in [`Project::plan_story`].
    pub const CHAPTER: &'static str = "acts/act-1/chapters/chapter-01/plan.md";
    /// The scene's file in [`Project::plan_story`].
    pub const SCENE: &'static str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";

    /// Returns an empty directory; nothing is initialised.
    ///
    /// # Panics
    /// When no temporary directory can be made.
    #[must_use]
    pub fn empty(binary: &Path) -> Self {
        let directory = TempDir::with_prefix("tl-проект-").expect("a temporary directory");
        std::fs::create_dir_all(directory.path().join("work")).expect("a directory");
        let environment = shared(&directory);
        Self {
            directory,
            binary: binary.to_owned(),
            environment,
        }
    }

    /// Returns a project with the story profile.
    ///
    /// # Panics
    /// When `tl init` fails.
    #[must_use]
    pub fn story(binary: &Path) -> Self {
        let project = Self::empty(binary);
        project.ok(&["init"]);
        project
    }

    /// Returns an empty directory whose state will be in a shared database, under a project's name there.
    #[must_use]
    pub fn in_database(binary: &Path, url: &str, name: &str) -> Self {
        Self::empty(binary)
            .with_environment("THROUGHLINE_STORAGE", "postgres")
            .with_environment("THROUGHLINE_DATABASE_URL", url)
            .with_environment("THROUGHLINE_DATABASE_PROJECT", name)
    }

    /// Sets a variable for every command.
    #[must_use]
    pub fn with_environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the project's directory.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Returns the user's own directory.
    #[must_use]
    pub fn user_directory(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// Returns a command that is ready to run.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command_of(&self.binary);
        command.args(arguments);
        command
    }

    /// Returns the program under test.
    #[must_use]
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Returns another program that is ready to run, in the same surroundings.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "tests start the program under test"
    )]
    pub fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("THROUGHLINE_HOME", self.user_directory())
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Runs the program.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Output {
        let output = self
            .command(arguments)
            .output()
            .expect("the program starts");
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs the program on a pseudo-terminal, with colours, and returns everything it wrote there. Its stdin is closed,
    /// so that it asks nothing.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn run_on_terminal(&self, arguments: &[&str]) -> String {
        let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        let line = format!(
            "exec {} {} </dev/null",
            quoted(&self.binary.display().to_string()),
            words.join(" ")
        );
        let mut command = self.command_of(Path::new("script"));
        command
            .env_remove("NO_COLOR")
            .env("TERM", "xterm-256color")
            .args(["-qec", &line, "/dev/null"]);
        let output = command.output().expect("`script` of util-linux starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the program as a person does: in a pseudo-terminal of its own, typing `typed`. What was printed is all in `stdout`.
    ///
    /// # Panics
    /// When there is no `script` of util-linux.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "tests start the program under test, in a terminal"
    )]
    pub fn run_as_person(&self, name: &str, typed: &str, arguments: &[&str]) -> Output {
        let ready = self.command(arguments);
        let quoted: Vec<String> = std::iter::once(ready.get_program())
            .chain(ready.get_args())
            .map(|word| format!("'{}'", word.to_str().expect("Unicode")))
            .collect();
        let mut command = Command::new("script");
        command
            .args(["-qec", &quoted.join(" "), "/dev/null"])
            .current_dir(self.root())
            .env_clear();
        command
            .envs(
                ready
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("USER", name);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("`script` of util-linux");
        let mut input = child.stdin.take().expect("a pipe");
        // A program that does not ask does not read.
        let _ = input.write_all(typed.as_bytes());
        // Its end would be the terminal's: it stays open until the program is done.
        let output = child.wait_with_output().expect("it ends");
        drop(input);
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).replace('\r', ""),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs the program and expects it to succeed.
    ///
    /// # Panics
    /// When it does not.
    pub fn ok(&self, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        assert_eq!(
            output.code, 0,
            "tl {arguments:?}\nstdout: {}\nstderr: {}",
            output.stdout, output.stderr
        );
        output
    }

    /// Runs the program and expects it to refuse.
    ///
    /// # Panics
    /// When it does not.
    pub fn refused(&self, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        assert_eq!(
            output.code, 1,
            "tl {arguments:?}\nstdout: {}\nstderr: {}",
            output.stdout, output.stderr
        );
        output
    }

    /// Runs the program with `--json` and returns what it printed, whatever the exit code.
    ///
    /// # Panics
    /// When it printed no JSON.
    #[must_use]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let output = self.run(&all);
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| {
            panic!(
                "tl {all:?} printed no JSON ({error}): {}\n{}",
                output.stdout, output.stderr
            )
        })
    }

    /// Returns a node's status.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn status(&self, node: &str) -> String {
        let view = self.json(&["show", node]);
        view["status"]
            .as_str()
            .unwrap_or_else(|| panic!("no status in {view}"))
            .to_owned()
    }

    /// Writes a file as an editor or an agent would.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        let mut file = std::fs::File::create(&path).expect("the file can be made");
        file.write_all(text.as_ref())
            .expect("the file can be written");
    }

    /// Reads a file.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Writes a setting into `config.toml` by its dotted name, as a person would in an editor.
    ///
    /// # Panics
    /// When the file cannot be read or written.
    pub fn configure(&self, key: &str, value: &str) {
        let file = ".throughline/config.toml";
        // At the top, where a dotted name is not inside of a section.
        let mut text = format!("{key} = {value}\n");
        let before = self.read(file);
        for line in before.lines() {
            if !line.starts_with(&format!("{key} = ")) {
                text.push_str(&format!("{line}\n"));
            }
        }
        self.write(file, text);
    }

    /// Makes an approved act, chapter and scene.
    pub fn plan_story(&self) {
        self.write(
            Self::ACT,
            "# Act 1\n\n## Characters\n- Mara\n\n## Purpose\nBegin.\n",
        );
        self.ok(&["approve", "act", "1"]);
        self.write(Self::CHAPTER, "# Chapter 1\n\n## Characters\n- Mara\n");
        self.ok(&["approve", "chapter", "1"]);
        self.write(Self::SCENE, "# Scene 1.1\n\n## Characters\n- Mara\n");
        self.ok(&["approve", "scene", "0101"]);
    }
}
