//! `tl init`

use std::path::Path;

use application::record_event::record_event;
use application::{Failure, FailureKind};
use clap::Args;
use domain::operation::Verb;
use domain::ports::{PlanFiles, StoreFault};
use domain::settings::{KEYS, Storage};
use serde::Serialize;
use store::DiskFiles;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, GOOD, styled};
use crate::wiring::{App, Project};

/// Make this directory a project
///
/// Asks nothing and shows what it made. Safe to run twice: what is there is left as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl init\n  tl init --profile story,tickets\n  tl --project ~/novel init")]
pub(crate) struct InitArgs {
    /// The kinds of tree: story, tickets, trail, milestones, or your own
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    profile: Vec<String>,
}

/// What `tl init` did.
#[derive(Debug, Serialize)]
struct InitOutcome {
    success: bool,
    project: String,
    profiles: Vec<String>,
    made: Vec<String>,
    kept: Vec<String>,
}

const IGNORED: &str = "\
# Kept by Throughline for this machine; the mirror in state/ and config.toml belong into git.
/state.db
/state.db-*
/state-before-format-*.db
/journal.jsonl
/lock
/rebuild.lock
/logs/
/damaged/
.tl-*
";

impl InitArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let root = &app.start;
        let cannot = |error: std::io::Error| {
            Failure::new(FailureKind::Unavailable, format!("cannot write in `{}`: {error}", root.display()))
        };
        let mut outcome = InitOutcome {
            success: true,
            project: root.display().to_string(),
            profiles: Vec::new(),
            made: Vec::new(),
            kept: Vec::new(),
        };
        let new = !root.join(".throughline").exists();
        std::fs::create_dir_all(root.join(".throughline/profiles")).map_err(cannot)?;
        let files = DiskFiles::open(root).map_err(cannot)?;
        let mut lay = |path: &str, text: &str| -> Result<(), Failure> {
            match files.create(path, text) {
                Ok(()) => outcome.made.push(path.to_owned()),
                Err(domain::ports::FileFault::Exists { .. }) => outcome.kept.push(path.to_owned()),
                Err(fault) => return Err(fault.into()),
            }
            Ok(())
        };
        let names = if self.profile.is_empty() { vec!["story".to_owned()] } else { self.profile.clone() };
        let written =
            lay(".throughline/config.toml", &config(&names)).and_then(|()| lay(".throughline/.gitignore", IGNORED));
        if let Err(failure) = written.and_then(|()| Project::at(root).map(|_| ())) {
            // A wrong profile name must not leave a half-made project behind.
            for path in &outcome.made {
                let _ = files.remove(path);
            }
            if new {
                let _ = std::fs::remove_dir_all(root.join(".throughline"));
            }
            return Err(failure);
        }
        let project = Project::at(root)?;
        outcome.profiles = project.settings.profiles.clone();
        let missing: Vec<&String> = self.profile.iter().filter(|name| !outcome.profiles.contains(name)).collect();
        if let Some(name) = missing.first() {
            return Err(Failure::new(
                FailureKind::Refused,
                format!("this is a project already, and its profiles are {}", outcome.profiles.join(", ")),
            )
            .step(format!("add \"{name}\" to `profiles` in .throughline/config.toml")));
        }
        let state = project.layout.relative(match project.settings.storage {
            Storage::Sqlite => &project.layout.database,
            Storage::Json => &project.layout.journal,
        });
        match project.open(app.ui, None) {
            Ok(_) => outcome.kept.push(state),
            Err(StoreFault::Missing) => {
                let created = store::create(&project.layout, project.settings.storage, &project.known)?;
                if created.new {
                    let summary = format!("init with profiles {}", outcome.profiles.join(", "));
                    project.run(app.ui, &|ctx| record_event(ctx, Verb::Init, &summary))?;
                    outcome.made.push(state);
                } else {
                    outcome.kept.push(state);
                }
            }
            Err(other) => return Err(other.into()),
        }
        report(app, root, &project, &outcome);
        Ok(ExitCode::Done)
    }
}

fn report(app: &App, root: &Path, project: &Project, outcome: &InitOutcome) {
    if app.ui.json {
        app.ui.value(outcome);
        return;
    }
    app.ui.line(format!(
        "{} {} is a Throughline project",
        styled(GOOD, "✓"),
        styled(BOLD, &root.display().to_string())
    ));
    for path in &outcome.made {
        app.ui.line(format!("  made {path}"));
    }
    for path in &outcome.kept {
        app.ui.line(styled(DIM, &format!("  kept {path}")));
    }
    for profile in &project.profiles {
        app.ui.line(format!("  {}: {}", profile.name, profile.hierarchy()));
    }
    app.ui.line(format!("\nNext:  {}   what can be planned", styled(BOLD, "tl plan")));
}

/// Returns a configuration file that says what every key does; what is not set is a comment.
fn config(profiles: &[String]) -> String {
    let mut text =
        String::from("# Settings of this project. Every key is here; what is commented out is the default.\n");
    let mut table = "";
    for key in KEYS {
        let (section, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        if section != table {
            text.push_str(&format!("\n[{section}]\n"));
            table = section;
        }
        text.push_str(&format!("\n# {}\n# Allowed: {}\n", key.text, key.allowed));
        if key.name == "profiles" {
            let names: Vec<String> = profiles.iter().map(|name| format!("{name:?}")).collect();
            text.push_str(&format!("profiles = [{}]\n", names.join(", ")));
        } else {
            text.push_str(&format!("# {name} = {}\n", key.default));
        }
    }
    text
}
