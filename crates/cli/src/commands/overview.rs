//! `tl` without a command: where the project stands, and the commands that matter now.

use std::path::Path;

use application::Failure;
use application::next_work::list_next_work;
use application::project_status::{Attention, LevelCounts, ProjectStatus, load_project_status};
use application::views::StatusCounts;
use application::where_am_i::where_am_i;
use domain::host_event::Host;
use domain::next_work::NextKind;
use domain::node::Status;
use hosts::host_spec;
use hosts::install::find_installed;
use serde::Serialize;
use store::DiskFiles;

use super::host_files::read_project_file;
use super::status::print_level_counts;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, render_node_status, styled};
use crate::wiring::App;

/// Number of suggested commands: more would have to be read, not scanned.
const MAX_COMMANDS: usize = 4;

/// Number of nodes listed that need a decision.
const MAX_WAITING: usize = 3;

/// A project at a glance.
#[derive(Debug, Serialize)]
struct Overview {
    /// `None` outside of a project.
    project: Option<String>,
    nodes: usize,
    status_counts: StatusCounts,
    #[serde(skip)]
    levels: Vec<LevelCounts>,
    /// The session's position, in one line.
    focus: Option<String>,
    /// The first nodes that need a decision.
    waiting: Vec<Attention>,
    waiting_total: usize,
    commands: Vec<SuggestedCommand>,
}

/// A command that makes sense now.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct SuggestedCommand {
    command: String,
    why: String,
}

/// Prints the overview.
pub(crate) fn print_overview(app: &App) -> Result<ExitCode, Failure> {
    let overview = match app.find_project_root() {
        Ok(_) => load_overview(app)?,
        // Not a failure: a user who types only the name of the program wants to know how to begin.
        Err(_) => Overview {
            project: None,
            nodes: 0,
            status_counts: StatusCounts::default(),
            levels: Vec::new(),
            focus: None,
            waiting: Vec::new(),
            waiting_total: 0,
            commands: suggest([
                ("tl init", "make this directory a project"),
                ("tl demo", "see the life of a plan in a new directory"),
                ("tl story new \"TITLE\"", "start a story in a new directory"),
                ("tl help", "all commands"),
            ]),
        },
    };
    if !app.ui.try_print_json(&overview) {
        print_as_text(app, &overview);
    }
    Ok(ExitCode::Done)
}

/// Number of items among which the first ready node is looked for.
const OVERVIEW_ITEMS: usize = 20;

fn load_overview(app: &App) -> Result<Overview, Failure> {
    let project = app.find_project()?;
    let (mut status, ready, place) = project.run(app.ui, &|ctx| {
        // In one run, which opens the store and resolves the policy once.
        let ready = list_next_work(ctx, OVERVIEW_ITEMS)?.ready.into_iter();
        let ready = ready.into_iter().find(|item| item.kind == NextKind::Node);
        Ok((load_project_status(ctx)?, ready, where_am_i(ctx)?))
    })?;
    let has_hooks = has_host_hooks(&project.root);
    let commands = choose_commands(&status, ready.map(|ready| ready.path), has_hooks);
    let waiting_total = status.attention.len();
    status.attention.truncate(MAX_WAITING);
    Ok(Overview {
        project: Some(project.root.display().to_string()),
        nodes: status.nodes,
        status_counts: status.status_counts,
        levels: status.levels,
        focus: place.cursor.is_some().then_some(place.line),
        waiting: status.attention,
        waiting_total,
        commands,
    })
}

/// Whether our hooks are in the settings of any host. Settings that cannot be read count as none: the
/// suggested command reports the problem.
fn has_host_hooks(root: &Path) -> bool {
    let Ok(disk) = DiskFiles::open(root) else {
        return false;
    };
    Host::ALL.iter().any(|host| {
        let text = read_project_file(&disk, host_spec(*host).hooks_path);
        matches!(text, Ok(Some(text)) if find_installed(*host, &text).is_some())
    })
}

/// Chooses the commands by what the project needs most: decisions first, then work, then a look.
fn choose_commands(
    status: &ProjectStatus,
    ready: Option<String>,
    has_hooks: bool,
) -> Vec<SuggestedCommand> {
    let mut commands: Vec<SuggestedCommand> = Vec::new();
    let first = |wanted: Status| {
        let mut waiting = status.attention.iter();
        waiting.find(|node| node.status == wanted)
    };
    if let Some(node) = first(Status::Invalid) {
        commands.push(suggest_command(
            &format!("tl why {}", node.path),
            "why it is invalid",
        ));
    }
    if let Some(node) = first(Status::RequiresRevalidation) {
        commands.push(suggest_command(
            &format!("tl why {}", node.path),
            "what changed above it",
        ));
        commands.push(suggest_command(
            &format!("tl revalidate {}", node.path),
            "keep it as it is",
        ));
    }
    if let Some(node) = first(Status::Draft) {
        commands.push(suggest_command(
            &format!("tl approve {}", node.path),
            "approve it exactly as it is now",
        ));
    }
    let has_tickets = status.profiles.iter().any(|name| name == "tickets");
    match status.trail.as_deref() {
        // A ticket is the intent of the session that enters it.
        Some([]) if has_tickets => {}
        Some([]) => commands.push(suggest_command(
            "tl trail intent \"TEXT\"",
            "say what this session is for",
        )),
        Some(_) => commands.push(suggest_command(
            "tl trail scan",
            "the trail of this session",
        )),
        None => {}
    }
    if status.nodes == 0 {
        commands.extend(
            status
                .profiles
                .iter()
                .filter_map(|profile| first_step(profile)),
        );
    }
    if let Some(path) = ready {
        commands.push(suggest_command(
            &format!("tl focus enter {path}"),
            "it is ready to work on",
        ));
    }
    if status.nodes > 0 {
        commands.extend(suggest([
            ("tl next", "what is ready to work on"),
            ("tl plan", "what can be planned"),
            ("tl log", "what happened so far"),
        ]));
    }
    if !has_hooks {
        commands.extend(suggest([(
            "tl host install",
            "let an agent work by the plan",
        )]));
    }
    commands.extend(suggest([
        ("tl serve", "the dashboard in a browser"),
        ("tl help", "all commands"),
    ]));
    commands.truncate(MAX_COMMANDS);
    commands
}

/// The command that creates the first node of a profile. A trail starts with an intent, which is
/// suggested already.
fn first_step(profile: &str) -> Option<SuggestedCommand> {
    match profile {
        "trail" => None,
        "tickets" => Some(suggest_command(
            "tl ticket new \"TITLE\"",
            "create the first ticket",
        )),
        "milestones" => Some(suggest_command(
            "tl doc new \"TITLE\"",
            "create a plan document",
        )),
        _ => Some(suggest_command("tl plan", "what can be planned first")),
    }
}

fn suggest<const N: usize>(commands: [(&str, &str); N]) -> Vec<SuggestedCommand> {
    let commands = commands.into_iter();
    commands
        .map(|(command, why)| suggest_command(command, why))
        .collect()
}

fn suggest_command(command: &str, why: &str) -> SuggestedCommand {
    SuggestedCommand {
        command: command.to_owned(),
        why: why.to_owned(),
    }
}

fn print_as_text(app: &App, overview: &Overview) {
    match &overview.project {
        None => app
            .ui
            .print_line("There is no Throughline project here or above."),
        Some(_) if overview.nodes == 0 => app.ui.print_line("No plans yet."),
        Some(_) => print_level_counts(app.ui, &overview.levels),
    }
    if let Some(focus) = &overview.focus {
        app.ui
            .print_line(format_args!("{} {focus}", styled(BOLD, "focus:")));
    }
    for node in &overview.waiting {
        app.ui.print_line(format_args!(
            "{} {} {}",
            styled(BOLD, "waits:"),
            node.path,
            render_node_status(node.status)
        ));
    }
    let more = overview.waiting_total - overview.waiting.len();
    if more > 0 {
        app.ui
            .print_line(styled(DIM, format!("       … and {more} more (tl status)")));
    }
    app.ui.print_blank_line();
    let lengths = overview
        .commands
        .iter()
        .map(|one| one.command.chars().count());
    let width = lengths.max().unwrap_or_default();
    for one in &overview.commands {
        app.ui.print_line(format_args!(
            "  {}  {}",
            styled(BOLD, format!("{:<width$}", one.command)),
            styled(DIM, &one.why)
        ));
    }
}
