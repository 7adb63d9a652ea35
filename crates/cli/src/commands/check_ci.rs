//! `tl check --ci`: whether the plans of a branch may be merged.
//!
//! A continuous-integration machine has a fresh clone that nobody adopted, and no state. So the
//! state is built in memory from the plan files and the decision files of the working tree, as an
//! adopted clone would count them. Nothing is written, and nothing is adopted by it.

use application::check_approvals::{ApprovalCheck, UnapprovedPlan, check_approvals};
use application::{Context, Failure};
use domain::ids::{Principal, StoreId};
use domain::operation::Channel;
use domain::text::count_with_noun;
use store::{
    AdoptedDecisions, DiskFiles, DiskGit, MemoryStore, ReadOnlyFiles, SshSignatures, SystemClock,
};

use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{BAD, DIM, Ui, styled};
use crate::wiring::{App, Project};

pub(super) fn run(app: &App, base: Option<&str>) -> Result<ExitCode, Failure> {
    let project = app.find_project()?.tighten_by_pins();
    let check = judge_branch(app, &project, base)?;
    if !app.ui.try_print_json(&check) {
        let is_github = settings::environment_variable("GITHUB_ACTIONS").as_deref() == Some("true");
        print_check(app.ui, &check, is_github);
    }
    Ok(ExitCode::from_check(check.ok))
}

fn judge_branch(
    app: &App,
    project: &Project,
    base: Option<&str>,
) -> Result<ApprovalCheck, Failure> {
    let git = DiskGit::open(&project.root);
    // Where decisions are not files, the shared state has them.
    let Some(folder) = project.open_decisions(&git) else {
        return app.run(|ctx| check_approvals(ctx, base));
    };
    // The clone of a machine is adopted by nobody. Counting its decisions gives no rights, because
    // nothing is written.
    let decisions = AdoptedDecisions::new(&folder);
    let disk = DiskFiles::open(&project.root).map_err(|error| {
        Failure::unavailable(format!("cannot open `{}`: {error}", project.root.display()))
    })?;
    // A check changes no file of the tree that it judges.
    let files = ReadOnlyFiles::new(&disk);
    let store = MemoryStore::new(StoreId("check".to_owned()));
    let signatures = SshSignatures::new(&project.root, settings::signing_environment());
    let ctx = Context::new(
        &store,
        &files,
        &SystemClock,
        &project.profiles,
        &project.settings.policy,
        Principal::System,
        Channel::Cli,
    )
    .with_judging_policy(project.settings.policy.approval)
    .with_git_and_session(&git, String::new())
    .with_decisions(Some(&decisions))
    .with_signatures(&signatures);
    check_approvals(&ctx, base)
}

fn print_check(ui: Ui, check: &ApprovalCheck, is_github: bool) {
    let plans = count_with_noun(check.plans, "plan", "plans");
    if check.ok {
        ui.print_success(format_args!("{plans}: all that need it are approved"));
        return;
    }
    for finding in &check.findings {
        let message = describe_finding(finding);
        if is_github {
            ui.print_line(render_annotation(finding, &message));
            continue;
        }
        let file = finding.file_path.as_deref().unwrap_or(&finding.path);
        ui.print_line(format_args!("{} {file}: {message}", styled(BAD, "✗")));
        ui.print_line(format_args!("    {}", styled(DIM, &finding.next_step)));
    }
    let wrong = count_with_noun(check.findings.len(), "is not", "are not");
    ui.print_line(format_args!("{plans}, {wrong} in order"));
}

fn describe_finding(finding: &UnapprovedPlan) -> String {
    let path = &finding.path;
    if finding.is_duplicate {
        return format!("`{path}` has the id of another plan");
    }
    let status = finding.status.label();
    match &finding.reason {
        Some(reason) => format!("`{path}` is {status}, not approved: {reason}"),
        None => format!("`{path}` is {status}, not approved"),
    }
}

/// A line that GitHub shows at the file, in the form of its workflow commands.
fn render_annotation(finding: &UnapprovedPlan, message: &str) -> String {
    let title = finding.title.as_deref().unwrap_or(&finding.path);
    let file = finding.file_path.as_deref().map_or(String::new(), |file| {
        format!("file={},line=1,", escape_property(file))
    });
    format!(
        "::error {file}title={}::{} (next: {})",
        escape_property(title),
        escape_data(message),
        escape_data(&finding.next_step)
    )
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
