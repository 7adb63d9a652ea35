//! `tl demo`: scripted walks in a new directory, with the real commands: the life of a plan in a
//! story, and a ticket in a repository with code.
//!
//! Every step checks its exit code, so that the demo fails as soon as it would show something
//! untrue.

mod code;
mod story;

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use application::Failure;
use clap::{Args, Subcommand};
use domain::ports::{CommandRunner, PlanFiles};
use domain::shell_line::quote_word;
use serde::Serialize;
use store::{DiskFiles, ProcessRunner};

use crate::exit_code::ExitCode;
use crate::program_path::{describe_call, find_on_path};
use crate::ui::{BAD, BOLD, DIM, INFO, Ui, styled};
use crate::wiring::App;

/// See it at work in a new directory: a small story, or a repository with code
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  tl demo\n  tl demo ~/throughline-demo\n  tl demo code"
)]
pub(crate) struct DemoArgs {
    #[command(subcommand)]
    kind: Option<DemoKind>,
    #[command(flatten)]
    place: DemoPlace,
}

#[derive(Debug, Subcommand)]
enum DemoKind {
    /// The life of a plan, with a small story (the default)
    #[command(after_help = "Examples:\n  tl demo story\n  tl demo story ~/harbour")]
    Story(DemoPlace),
    /// A ticket in a repository with code: a blocked edit, red and green, two worktrees
    #[command(after_help = "Examples:\n  tl demo code\n  tl demo code ~/shop")]
    Code(DemoPlace),
}

#[derive(Debug, Clone, Args)]
struct DemoPlace {
    /// Directory to create [default: `throughline-demo` in the current directory]
    directory: Option<PathBuf>,
}

impl DemoArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let (place, is_code) = match &self.kind {
            None => (&self.place, false),
            Some(DemoKind::Story(place)) => (place, false),
            Some(DemoKind::Code(place)) => (place, true),
        };
        if is_code && find_on_path("git").is_none() {
            // Before the directory is created: a repeat after the installation finds it free.
            return Err(Failure::unavailable(
                "the demo for code needs git, which is not on your PATH",
            )
            .with_step("tl demo   # the one without git"));
        }
        let root = create_directory(place, app)?;
        // The commands of the demo print for people; with `--json` the only document
        // is the outcome.
        let ui = Ui {
            json: false,
            silent: app.ui.json,
        };
        // Below the new directory, so that the second worktree, beside it, is in there as well.
        let project = if is_code { root.join("shop") } else { root };
        let demo = Demo::open(ui, project)?;
        if is_code {
            code::run_steps(&demo)?;
        } else {
            story::run_steps(&demo)?;
        }
        if app.ui.json {
            app.ui.print_json(&DemoOutcome {
                success: true,
                project: demo.root.display().to_string(),
                steps: demo.steps.take(),
            });
        }
        Ok(ExitCode::Done)
    }
}

/// Creates the demo's directory. The demo approves and overwrites plans, so it never runs in an
/// existing project.
fn create_directory(place: &DemoPlace, app: &App) -> Result<PathBuf, Failure> {
    let root = place
        .directory
        .clone()
        .unwrap_or_else(|| find_free_directory(&app.start));
    let why_not = if root.join(".throughline").exists() {
        Some("is a project already")
    } else if std::fs::read_dir(&root).is_ok_and(|mut entries| entries.next().is_some()) {
        Some("is not empty")
    } else {
        None
    };
    if let Some(why_not) = why_not {
        return Err(Failure::refused(format!(
            "`{}` {why_not}; the demo needs a new directory",
            root.display()
        ))
        .with_step("tl demo SOME_NEW_DIRECTORY"));
    }
    let cannot = |error| cannot_create(&root, &error);
    std::fs::create_dir_all(&root).map_err(cannot)?;
    root.canonicalize().map_err(cannot)
}

fn cannot_create(directory: &Path, error: &std::io::Error) -> Failure {
    Failure::unavailable(format!("cannot create `{}`: {error}", directory.display()))
}

fn find_free_directory(start: &Path) -> PathBuf {
    (1_u32..)
        .map(|number| {
            if number == 1 {
                "throughline-demo".to_owned()
            } else {
                format!("throughline-demo-{number}")
            }
        })
        .map(|name| start.join(name))
        .find(|path| !path.exists())
        .unwrap_or_else(|| start.join("throughline-demo"))
}

/// How long a git command of the demo may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(30);

struct Demo {
    ui: Ui,
    root: PathBuf,
    files: DiskFiles,
    steps: RefCell<Vec<Step>>,
}

/// Output of `tl demo --json`.
#[derive(Debug, Serialize)]
struct DemoOutcome {
    success: bool,
    project: String,
    steps: Vec<Step>,
}

/// A command that the demo ran.
#[derive(Debug, Serialize)]
struct Step {
    command: String,
    exit_code: u8,
}

impl Demo {
    fn open(ui: Ui, root: PathBuf) -> Result<Self, Failure> {
        let cannot = |error| cannot_create(&root, &error);
        std::fs::create_dir_all(&root).map_err(cannot)?;
        let files = DiskFiles::open(&root).map_err(cannot)?;
        Ok(Self {
            ui,
            root,
            files,
            steps: RefCell::new(Vec::new()),
        })
    }

    fn print_heading(&self, text: &str) {
        self.ui.print_blank_line();
        self.ui.print_line(styled(BOLD, text));
    }

    fn print_remark(&self, text: &str) {
        self.ui.print_line(styled(DIM, text));
    }

    fn print_what_next(&self, commands: &[(&str, &str)]) {
        self.print_heading("What to try next");
        let enter = format!("cd {}", quote_word(&self.root.display().to_string()));
        self.print_commands(&[(enter.as_str(), "it is yours to break")]);
        self.print_commands(commands);
    }

    fn print_own_project(&self, commands: &[(&str, &str)]) {
        self.print_heading("In your own project");
        self.print_commands(commands);
        if let Some(call) = describe_call() {
            self.ui.print_blank_line();
            self.print_remark(&call);
        }
    }

    fn print_commands(&self, commands: &[(&str, &str)]) {
        for (command, what) in commands {
            self.ui.print_line(format_args!(
                "  {}  {}",
                styled(BOLD, format!("{command:<36}")),
                styled(DIM, what)
            ));
        }
    }

    fn write_as_agent(&self, path: &str, text: &str) -> Result<(), Failure> {
        self.write_file(path, text, "an agent writes")
    }

    fn edit_as_author(&self, path: &str, text: &str) -> Result<(), Failure> {
        self.write_file(path, text, "the author edits")
    }

    fn write_file(&self, path: &str, text: &str, who: &str) -> Result<(), Failure> {
        self.files.replace_file(path, text)?;
        self.print_remark(&format!("({who} {path})"));
        Ok(())
    }

    /// Prints a command as a person would type it, runs it, and checks its exit code.
    fn run_command(&self, words: &[&str], expected: ExitCode) -> Result<(), Failure> {
        self.print_command("tl", words);
        self.run_in(&self.root, words, self.ui.silent, expected)
    }

    /// As `run_command`, in another worktree.
    fn run_command_beside(
        &self,
        worktree: &str,
        words: &[&str],
        expected: ExitCode,
    ) -> Result<(), Failure> {
        let project = format!("tl --project {}", quote_word(worktree));
        self.print_command(&project, words);
        self.run_in(&self.root.join(worktree), words, self.ui.silent, expected)
    }

    /// As `run_command`, for a command whose output is long: a remark says what it prints.
    fn run_command_silently(&self, words: &[&str], prints: &str) -> Result<(), Failure> {
        self.print_command("tl", words);
        self.print_remark(prints);
        self.run_in(&self.root, words, true, ExitCode::Done)
    }

    fn print_command(&self, program: &str, words: &[&str]) {
        self.print_piped_command(program, words, "");
    }

    /// Prints a command whose output goes through `pipe`.
    fn print_piped_command(&self, program: &str, words: &[&str], pipe: &str) {
        let words: Vec<String> = words.iter().map(|word| quote_word(word)).collect();
        let line = format!("$ {program} {}{pipe}", words.join(" "));
        self.ui.print_line(styled(INFO, &line));
    }

    /// Runs a command in this process: 20 starts of the program would make the demo slower without
    /// showing more.
    fn run_in(
        &self,
        project: &Path,
        words: &[&str],
        silent: bool,
        expected: ExitCode,
    ) -> Result<(), Failure> {
        let mut arguments: Vec<OsString> = vec!["tl".into(), "--project".into(), project.into()];
        if silent {
            arguments.push("--silent".into());
        }
        arguments.extend(words.iter().map(OsString::from));
        self.check_exit_code(crate::run(arguments), words, expected)
    }

    fn run_git(&self, words: &[&str]) -> Result<(), Failure> {
        self.print_command("git", words);
        self.run_git_silently(words)
    }

    /// Runs git in the project, with none of the user's hooks and no signature.
    fn run_git_silently(&self, words: &[&str]) -> Result<(), Failure> {
        let safe = [
            "git",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "commit.gpgSign=false",
        ];
        let command: Vec<String> = safe
            .iter()
            .chain(words)
            .map(|&word| word.to_owned())
            .collect();
        let output = ProcessRunner::new(&self.root).run_command(&command, GIT_TIMEOUT)?;
        match output {
            Some(output) if output.exit_code == Some(0) => Ok(()),
            Some(output) => Err(Failure::unavailable(format!(
                "the demo stopped: `git {}` failed: {}",
                words.join(" "),
                output.output.trim()
            ))),
            None => Err(Failure::unavailable("the demo stopped: git did not end")),
        }
    }

    /// Runs the hook as Claude Code does before it writes a file, and prints the refusal.
    fn run_hook(&self, path: &str, content: &str) -> Result<(), Failure> {
        let broken =
            |error: std::io::Error| Failure::internal(format!("the demo stopped: {error}"));
        self.ui
            .print_line(styled(INFO, "$ tl hook claude-code < the-event.json"));
        let event = serde_json::json!({
            "session_id": "demo",
            "cwd": self.root,
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_use_id": "demo-1",
            "tool_input": { "file_path": self.root.join(path), "content": content },
        });
        #[expect(
            clippy::disallowed_methods,
            reason = "a hook is a process of its own, and here it is this very program"
        )]
        let mut hook = Command::new(std::env::current_exe().map_err(broken)?);
        hook.args(["hook", "claude-code"])
            .current_dir(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut hook = hook.spawn().map_err(broken)?;
        // Taken, so that it is closed at the end of the block: the hook reads to the end of its
        // input.
        if let Some(mut input) = hook.stdin.take() {
            input
                .write_all(event.to_string().as_bytes())
                .map_err(broken)?;
        }
        let output = hook.wait_with_output().map_err(broken)?;
        // An unreadable answer has no decision in it and ends the demo below.
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let decision = &answer["hookSpecificOutput"];
        let stopped = decision["permissionDecision"] == "deny";
        self.steps.borrow_mut().push(Step {
            command: "tl hook claude-code".to_owned(),
            exit_code: u8::from(stopped),
        });
        let Some(reason) = decision["permissionDecisionReason"]
            .as_str()
            .filter(|_| stopped)
        else {
            return Err(Failure::internal(
                "the demo stopped: the hook let the write pass",
            ));
        };
        // The guide of the phase follows after an empty line.
        self.ui
            .print_lines(reason.split("\n\n").next().unwrap_or_default());
        Ok(())
    }

    /// Runs `tl plan` and prints the first lines of its long output.
    fn run_plan_truncated(&self, words: &[&str]) -> Result<(), Failure> {
        self.print_piped_command("tl", words, " | head -12");
        let app = App::new(self.ui, Some(self.root.clone()))?;
        // Calls the use case directly: the command would print the whole prompt.
        let request = application::plan_node::PlanRequest {
            kind: words.get(1).copied().unwrap_or_default().to_owned(),
            id: words.get(2).copied().unwrap_or_default().to_owned(),
            under: None,
        };
        let outcome = app.run(|ctx| application::plan_node::plan_node(ctx, &request))?;
        outcome
            .prompt
            .lines()
            .take(12)
            .for_each(|line| self.ui.print_line(line));
        Ok(())
    }

    fn check_exit_code(
        &self,
        found: ExitCode,
        words: &[&str],
        expected: ExitCode,
    ) -> Result<(), Failure> {
        self.steps.borrow_mut().push(Step {
            command: format!("tl {}", words.join(" ")),
            exit_code: found.as_number(),
        });
        if found == expected {
            match expected {
                ExitCode::Failed => self
                    .ui
                    .print_line(styled(BAD, "(refused, as it should be)")),
                ExitCode::Done | ExitCode::Usage => {}
                ExitCode::Findings => self.ui.print_line(styled(BAD, "(failed, as it should)")),
            }
            return Ok(());
        }
        let command = words.join(" ");
        Err(Failure::internal(format!(
            "the demo stopped: `tl {command}` ended with {}",
            found.as_number()
        )))
    }
}
