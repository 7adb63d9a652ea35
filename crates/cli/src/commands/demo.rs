//! `tl demo`: a scripted walk through the life of a plan, in a new directory, with the real
//! commands.
//!
//! Every step checks its exit code, so that the demo fails as soon as it would show something
//! untrue.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use application::Failure;
use clap::Args;
use domain::ports::PlanFiles;
use serde::Serialize;
use store::DiskFiles;

use crate::exit_code::ExitCode;
use crate::ui::{BAD, BOLD, DIM, INFO, Ui, styled};
use crate::wiring::App;

/// Walk through the life of a plan, with a small story in a new directory
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl demo\n  tl demo ~/throughline-demo")]
pub(crate) struct DemoArgs {
    /// Directory to create [default: `throughline-demo` in the current directory]
    directory: Option<PathBuf>,
}

const ACT_TEXT: &str = include_str!("demo/act.md");
const CHAPTER_TEXT: &str = include_str!("demo/chapter.md");
const SCENE_TEXT: &str = include_str!("demo/scene.md");
const SECOND_CHAPTER_TEXT: &str = include_str!("demo/chapter-2.md");

const ACT_FILE: &str = "acts/act-1/strategic-plan.md";
const CHAPTER_FILE: &str = "acts/act-1/chapters/chapter-01/plan.md";
const SCENE_FILE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";
const SECOND_CHAPTER_FILE: &str = "acts/act-1/chapters/chapter-02/plan.md";
const SECOND_SCENE_FILE: &str = "acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md";

impl DemoArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let root = self
            .directory
            .clone()
            .unwrap_or_else(|| find_free_directory(&app.start));
        let cannot = |error: std::io::Error| {
            Failure::unavailable(format!("cannot create `{}`: {error}", root.display()))
        };
        // The demo approves and overwrites plans, so it never runs in an existing project.
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
        std::fs::create_dir_all(&root).map_err(cannot)?;
        let root = root.canonicalize().map_err(cannot)?;
        let files = DiskFiles::open(&root).map_err(cannot)?;
        let demo = Demo {
            ui: Ui {
                json: false,
                silent: app.ui.json,
            },
            root,
            files,
            steps: RefCell::new(Vec::new()),
        };
        demo.run_steps()?;
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
    fn run_steps(&self) -> Result<(), Failure> {
        self.print_heading("A new project");
        self.run_command(&["init", "--profile", "story"], ExitCode::Done)?;

        self.print_heading("1. Plan from the top: the prompt an agent gets for act 1");
        self.run_plan_truncated(&["plan", "act", "1"])?;
        self.write_as_agent(ACT_FILE, ACT_TEXT)?;

        self.print_heading("2. Nothing is planned below a plan that is not approved");
        // Expected to fail: the refusal is what this step shows.
        self.run_command(&["plan", "chapter", "1"], ExitCode::Failed)?;
        self.run_command(&["approve", "act", "1"], ExitCode::Done)?;
        self.print_remark(
            "Now the chapter may be planned, and the prompt carries the whole act plan.",
        );
        self.write_as_agent(CHAPTER_FILE, CHAPTER_TEXT)?;
        self.run_command(&["approve", "chapter", "1"], ExitCode::Done)?;
        self.print_remark(
            "The scene names a character the chapter does not mention: a warning, not a block.",
        );
        self.write_as_agent(SCENE_FILE, SCENE_TEXT)?;
        self.run_command(&["approve", "scene", "0101"], ExitCode::Done)?;
        self.run_command(&["tree"], ExitCode::Done)?;

        self.print_heading(
            "3. The act is edited, in whatever way: everything below is stale at once",
        );
        // Edited in the file and not by a command, because that is how it happens: the next command
        // has to notice it by itself.
        let edited = ACT_TEXT.replace(
            "She refuses to leave the ship.",
            "She leaves the ship for the first time in nine years.",
        );
        self.edit_as_author(ACT_FILE, &edited)?;
        self.run_command(&["tree"], ExitCode::Done)?;
        self.run_command(&["why", "scene", "0101"], ExitCode::Done)?;

        self.print_heading("4. Decide: approve the new act, and keep the chapter as it is");
        self.run_command(&["approve", "act", "1"], ExitCode::Done)?;
        self.run_command(&["revalidate", "chapter", "1", "--keep"], ExitCode::Done)?;
        self.print_remark("The chapter did not change, so its scene holds again by itself.");
        self.run_command(&["tree"], ExitCode::Done)?;

        self.print_heading("5. Every version is kept: restore one, and undo that too");
        self.run_command(&["versions", "act", "1"], ExitCode::Done)?;
        self.run_command(&["restore", "act", "1", "-1"], ExitCode::Done)?;
        self.run_command(&["undo"], ExitCode::Done)?;
        self.run_command(&["log", "--limit", "5"], ExitCode::Done)?;
        self.run_command(&["check"], ExitCode::Done)?;

        self.print_heading("6. An agent is blocked, and waits for you");
        self.write_as_agent(SECOND_CHAPTER_FILE, SECOND_CHAPTER_TEXT)?;
        self.run_command(&["status"], ExitCode::Done)?;
        self.print_remark("That chapter is not approved. The agent's host asks before it writes a scene below it:");
        // A real hook process with a real event, so that the demo also proves that hooks work here.
        self.run_hook(SECOND_SCENE_FILE)?;
        // Printed instead of run: a server would block the demo, and opening a browser unasked is
        // rude.
        self.print_remark("Decide in the browser. In one terminal, in the new directory:");
        self.ui
            .print_line(format_args!("  {}", styled(BOLD, "tl serve --open")));
        self.print_remark("In another one, as the agent, which goes on as soon as you have approved the chapter there:");
        self.ui.print_line(format_args!(
            "  {}",
            styled(BOLD, "tl wait chapter 2 && tl plan scene 0201")
        ));

        self.print_heading("What to try next");
        let here = self.root.display();
        for (command, what) in [
            (format!("cd {here}"), "the story is yours to break"),
            (
                "tl status".to_owned(),
                "the state of the work and what needs a decision",
            ),
            (
                "tl plan scene 0102".to_owned(),
                "the prompt for the next scene, with the chapter's plan in it",
            ),
            (
                "rm .throughline/state.db; tl tree".to_owned(),
                "lose the database and watch it come back",
            ),
            ("tl --help".to_owned(), "everything else"),
        ] {
            self.ui.print_line(format_args!(
                "  {}  {}",
                styled(BOLD, format!("{command:<36}")),
                styled(DIM, what)
            ));
        }
        Ok(())
    }

    fn print_heading(&self, text: &str) {
        self.ui.print_blank_line();
        self.ui.print_line(styled(BOLD, text));
    }

    fn print_remark(&self, text: &str) {
        self.ui.print_line(styled(DIM, text));
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
        self.ui.print_line(format_args!(
            "{} {}",
            styled(INFO, "$ tl"),
            styled(INFO, &words.join(" "))
        ));
        // In this process: 20 starts of the program would make the demo slower without showing
        // more.
        self.check_exit_code(crate::run(self.build_arguments(words)), words, expected)
    }

    /// Runs the hook as Claude Code does before it writes a file, and prints the refusal.
    fn run_hook(&self, path: &str) -> Result<(), Failure> {
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
            "tool_input": { "file_path": self.root.join(path), "content": "# The lights\n" },
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
                "the demo stopped: the hook let a scene pass",
            ));
        };
        self.ui.print_lines(reason);
        Ok(())
    }

    /// Runs `tl plan` and prints the first lines of its long output.
    fn run_plan_truncated(&self, words: &[&str]) -> Result<(), Failure> {
        self.ui.print_line(format_args!(
            "{} {}",
            styled(INFO, "$ tl"),
            styled(INFO, format!("{} | head -12", words.join(" ")))
        ));
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

    fn build_arguments(&self, words: &[&str]) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            vec!["tl".into(), "--project".into(), self.root.clone().into()];
        // With `--json` only the summary at the end may be printed.
        if self.ui.silent {
            arguments.push("--silent".into());
        }
        arguments.extend(words.iter().map(OsString::from));
        arguments
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
            if expected == ExitCode::Failed {
                self.ui
                    .print_line(styled(BAD, "(refused, as it should be)"));
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
