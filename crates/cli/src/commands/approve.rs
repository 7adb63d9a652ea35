//! `tl approve`: approves plans at their current versions, after confirmation where only people may.

use application::Failure;
use application::answer_question::{Answer, AnswerOutcome, AskedQuestion, answer_question};
use application::approval_question::{ApprovalQuestion, build_question};
use application::approve::{ApproveOutcome, ApproveRequest, approve_node};
use application::decide_plans::{
    PlansDecided, answer_batch_question, approve_unread, preview_batch_answer,
};
use application::plan_batch::{
    BatchPurpose, BatchQuestion, LeftOutPlan, PlanSelection, SelectedPlans, build_batch_question,
    select_plans,
};
use application::views::TransitionView;
use application::working_copy::{CopyDifference, DifferenceKind};
use clap::Args;
use domain::approval::Force;
use domain::approval_question::{NoDecision, describe_force, describe_objection};
use domain::settings::Storage;
use domain::text::{count_with_noun, reveal_invisible};

use super::plans_args::PlansArgs;
use super::{ShownArgs, diff};
use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{BOLD, DIM, Ui, WARN, render_node_status, styled, title_suffix};
use crate::wiring::{App, Project, is_called_by_person};

/// Approve a plan exactly as it is now
///
/// The approval is bound to the content: as soon as the file changes, in whatever way, the plan is
/// a draft again. The parent must be approved first.
///
/// Where only people approve, it shows what changed since the last approved text (or the whole text)
/// and asks; with `--version` the caller says which text was read, and is not asked.
///
/// Several plans, or with `--below` every one of a subtree that waits (`--all`: of the project), are one
/// question and one operation: all of them are approved exactly as shown, or none. `--except` leaves
/// some out, and `--unread` names the plans instead of showing their texts. Where everyone may approve,
/// a person at a terminal is asked too, unless they say `--yes`; scripts and agents are not.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl approve act 1\n  tl approve act-1/chapter-02 --force\n  tl approve act 1 --version 3f2a9c41   only if it is this version\n  tl approve chapter-01 chapter-02     two plans, one question\n  tl approve --below act 1             everything in it that waits\n  tl approve --all --drafts            the whole project, such as an imported manuscript\n  tl approve --all --unread            the names only, where the texts were read elsewhere\n  tl approve --below act 1 --except chapter-03\n  tl approve --below act 1 --drafts    only what was never approved or has changed"
)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    plans: PlansArgs,

    /// Approve despite warnings or an earlier invalidation
    #[arg(long)]
    force: bool,

    /// Of several plans, show the names instead of the texts; the log says so
    #[arg(long, conflicts_with = "version")]
    unread: bool,

    /// Of several plans, do not ask; not where only people approve
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    shown: ShownArgs,
}

/// Whether only a person may decide here, by the settings or by the policy of a shared state.
pub(super) fn requires_person(app: &App, project: &Project) -> Result<bool, Failure> {
    // The policy of a shared state is only known with an open store. Agents skip this read: they
    // are refused by the use case anyway.
    let shared = matches!(
        project.settings.storage,
        Storage::Postgres | Storage::Remote
    );
    Ok(project.settings.policy.approval.requires_person()
        || (shared
            && is_called_by_person()
            && project.run(app.ui, &|ctx| Ok(ctx.policy.approval.requires_person()))?))
}

impl ApproveArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // With the pins: an agent that loosened `config.toml` must not spare the
        // person the question.
        let project = app.find_project()?.tighten_by_pins();
        let only_people = requires_person(app, &project)?;
        if let Some(selection) = self.plans.batch_selection(&project.profiles) {
            return self.approve_batch(app, &project, &selection, only_people);
        }
        let shown = match self.shown.shown_versions() {
            // `--version` replaces the question: its caller has read the text elsewhere.
            None if only_people && is_called_by_person() => {
                let (question, differences) = project.run(app.ui, &|ctx| {
                    Ok((
                        build_question(ctx, &self.plans.node)?,
                        ctx.copy_differences(),
                    ))
                })?;
                if let Some(question) = question {
                    if !confirm_question(QuestionVerb::Approve, &question, &differences) {
                        let verb = QuestionVerb::Approve;
                        return Err(record_refusal(&project, app.ui, verb, &question));
                    }
                    return self.approve_asked(app, &project, &question);
                }
                // Approved already: the use case says so.
                None
            }
            shown => shown,
        };
        let request = ApproveRequest {
            node: self.plans.node.clone(),
            force: self.force_option(),
            shown,
        };
        let outcome = project.run(app.ui, &|ctx| approve_node(ctx, &request))?;
        Self::print_outcome(app, &outcome)
    }

    /// Approves what the person said yes to.
    fn approve_asked(
        &self,
        app: &App,
        project: &Project,
        question: &ApprovalQuestion,
    ) -> Result<ExitCode, Failure> {
        let asked = AskedQuestion::from(question);
        let answer = Answer::Approve {
            force: self.force_option(),
        };
        match project.run(app.ui, &|ctx| answer_question(ctx, &asked, answer.clone()))? {
            AnswerOutcome::Approved(outcome) => Self::print_outcome(app, &outcome),
            _ => Err(Failure::internal("a yes was recorded as another answer")),
        }
    }

    fn print_outcome(app: &App, outcome: &ApproveOutcome) -> Result<ExitCode, Failure> {
        if app.ui.try_print_json(outcome) {
            return Ok(ExitCode::Done);
        }
        app.ui.print_success(&outcome.message);
        for warning in &outcome.warnings {
            app.ui.print_warning(warning);
        }
        print_transitions(app.ui, &outcome.changed_entities);
        Ok(ExitCode::Done)
    }
}

impl ApproveArgs {
    fn force_option(&self) -> Force {
        if self.force { Force::Yes } else { Force::No }
    }

    /// Whether a person is here to answer, and wants to be asked, where everyone may approve.
    fn asks_person(&self) -> bool {
        !self.yes && is_called_by_person() && settings::is_at_terminal()
    }

    /// Approves several plans with one answer.
    fn approve_batch(
        &self,
        app: &App,
        project: &Project,
        selection: &PlanSelection,
        only_people: bool,
    ) -> Result<ExitCode, Failure> {
        // Before the question, which may show dozens of texts.
        if self.shown.shown_versions().is_some() {
            return Err(Failure::invalid(
                "`--version` is the version of one plan, and these are several",
            )
            .with_step("tl approve NODE --version HASH   # each by itself"));
        }
        let is_asked = only_people || self.asks_person();
        // Where nobody is asked, the texts are not compared either.
        if is_asked && !self.unread {
            refuse_without_person(selection)?;
            return self.ask_about_texts(app, project, selection);
        }
        let selected = project.run(app.ui, &|ctx| {
            select_plans(ctx, selection, BatchPurpose::Approve)
        })?;
        print_left_out(app.ui, &selected.left_out);
        if selected.plans.is_empty() {
            print_nothing_waits(app.ui, &selected.left_out);
            return Ok(ExitCode::Done);
        }
        let asked = selected.asked_questions();
        if is_asked {
            refuse_without_person(selection)?;
            // What is refused anyway is not asked: the person would answer for nothing.
            let answer = Answer::Approve {
                force: self.force_option(),
            };
            project.run(app.ui, &|ctx| preview_batch_answer(ctx, &asked, &answer))?;
            if !confirm_unread(&selected) {
                let verb = QuestionVerb::Approve;
                return Err(record_batch_refusal(project, app.ui, verb, &asked));
            }
        }
        let force = self.force_option();
        let outcome = project.run(app.ui, &|ctx| match is_asked {
            true => approve_unread(ctx, &asked, force),
            false => answer_batch_question(ctx, &asked, &Answer::Approve { force }),
        })?;
        print_batch(app.ui, &outcome);
        Ok(ExitCode::Done)
    }

    /// Shows every text, and approves them if the person says yes.
    fn ask_about_texts(
        &self,
        app: &App,
        project: &Project,
        selection: &PlanSelection,
    ) -> Result<ExitCode, Failure> {
        let question = project.run(app.ui, &|ctx| {
            build_batch_question(ctx, selection, BatchPurpose::Approve)
        })?;
        // Before anything else: what is not asked about must not be taken for approved.
        print_left_out(app.ui, &question.left_out);
        if question.questions.is_empty() {
            print_nothing_waits(app.ui, &question.left_out);
            return Ok(ExitCode::Done);
        }
        let asked = question.asked_questions();
        if !confirm_batch(QuestionVerb::Approve, &question) {
            let verb = QuestionVerb::Approve;
            return Err(record_batch_refusal(project, app.ui, verb, &asked));
        }
        let answer = Answer::Approve {
            force: self.force_option(),
        };
        let outcome = project.run(app.ui, &|ctx| answer_batch_question(ctx, &asked, &answer))?;
        print_batch(app.ui, &outcome);
        Ok(ExitCode::Done)
    }
}

pub(super) fn print_left_out(ui: Ui, left_out: &[LeftOutPlan]) {
    for plan in left_out {
        ui.print_warning(format_args!("`{}` is left out: {}", plan.path, plan.reason));
    }
}

fn print_nothing_waits(ui: Ui, left_out: &[LeftOutPlan]) {
    let mut nothing = PlansDecided::nothing_waits();
    if !left_out.is_empty() {
        "no plan is approved: all that wait are left out".clone_into(&mut nothing.message);
    }
    if !ui.try_print_json(&nothing) {
        ui.print_message(nothing.message);
    }
}

/// Refuses a question that nobody could answer.
fn refuse_without_person(selection: &PlanSelection) -> Result<(), Failure> {
    if is_called_by_person() {
        return Ok(());
    }
    Err(Failure::refused(
        "only a person approves here (policy.approval is `human`), and none is at this terminal",
    )
    .with_step(format!(
        "ask the person to run `{}` in their own terminal, or to use the dashboard",
        selection.approve_command()
    )))
}

/// Names every plan of a batch, asks once, and returns whether the person says yes.
fn confirm_unread(selected: &SelectedPlans) -> bool {
    let ui = Ui::default();
    for plan in &selected.plans {
        let title = title_suffix(plan.title.as_deref());
        ui.print_line(format_args!(
            "{}{title}  {}",
            plan.asked.path,
            render_node_status(plan.status)
        ));
    }
    let plans = count_with_noun(selected.plans.len(), "plan", "plans");
    ui.print_message(format_args!(
        "Approve {plans} without seeing their texts? [y/N]"
    ));
    settings::read_yes_or_no()
}

/// Prints the outcome of a decision about several plans.
pub(super) fn print_batch(ui: Ui, outcome: &PlansDecided) {
    if ui.try_print_json(outcome) {
        return;
    }
    ui.print_success(&outcome.message);
    for plan in &outcome.plans {
        ui.print_line(format_args!("  {}", plan.path));
        for warning in &plan.warnings {
            ui.print_warning(warning);
        }
    }
    print_transitions(ui, &outcome.changed_entities);
}

/// What a yes at the terminal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuestionVerb {
    Approve,
    /// Renews the approval of a stale plan.
    Keep,
}

impl QuestionVerb {
    fn name(self) -> &'static str {
        match self {
            Self::Approve => "Approve",
            Self::Keep => "Keep",
        }
    }

    /// Returns what did not happen after a no.
    fn describe_undone(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Keep => "kept",
        }
    }

    /// Returns the command about one plan.
    fn command(self, node: &str) -> String {
        match self {
            Self::Approve => format!("tl approve {node}"),
            Self::Keep => format!("tl revalidate {node} --keep"),
        }
    }
}

/// Shows every plan of a batch, asks once, and returns whether the person says yes.
pub(super) fn confirm_batch(verb: QuestionVerb, question: &BatchQuestion) -> bool {
    let ui = Ui::default();
    // Siblings share their parent's change. Printed once per plan it would bury the
    // texts that differ.
    let mut shown_changes: Vec<(&str, &str)> = Vec::new();
    for one in &question.questions {
        let change = one
            .parent_changes
            .as_ref()
            .map(|change| (change.older.as_str(), change.newer.as_str()));
        print_question(
            ui,
            one,
            change.is_some_and(|change| shown_changes.contains(&change)),
        );
        ui.print_blank_line();
        shown_changes.extend(change);
    }
    let plans = count_with_noun(question.questions.len(), "plan", "plans");
    let forces = question.questions.iter().map(|one| one.required_force);
    let despite = forces.max().unwrap_or(Force::No).despite_clause();
    ui.print_message(format_args!(
        "{} {plans} as shown{despite}? [y/N]",
        verb.name()
    ));
    settings::read_yes_or_no()
}

/// Records that the person was asked about several plans and approved none, which the waiting agent is
/// told; returns what they can do instead.
pub(super) fn record_batch_refusal(
    project: &Project,
    ui: Ui,
    verb: QuestionVerb,
    asked: &[AskedQuestion],
) -> Failure {
    let answer = Answer::NoDecision(NoDecision::Declined);
    let recorded = project.run(ui, &|ctx| answer_batch_question(ctx, asked, &answer));
    match recorded {
        Err(failure) => failure,
        Ok(_) => Failure::refused(format!("nothing was {}", verb.describe_undone()))
            .with_step(format!("{}   # one of them", verb.command("NODE")))
            .with_step("tl request-changes NODE -m TEXT   # send one back to the agent"),
    }
}

/// Shows the question, and returns whether the person says yes.
pub(super) fn confirm_question(
    verb: QuestionVerb,
    question: &ApprovalQuestion,
    differences: &[CopyDifference],
) -> bool {
    // Also with `--json`: the question is for the person at the terminal, the JSON for the caller.
    let ui = Ui::default();
    print_question(ui, question, false);
    for difference in differences.iter().filter(|one| one.node == question.path) {
        ui.print_message(format_args!(
            "{}: your file is {}; {}",
            styled(WARN, "differs from the team's text"),
            difference.kind.as_str(),
            match difference.kind {
                DifferenceKind::New | DifferenceKind::Changed => "approving it submits it",
                _ => "the team's text is approved, not yours",
            }
        ));
    }
    let version = question.version_hash.short_hex();
    ui.print_message(format_args!(
        "{} {} at {version}{}? [y/N]",
        verb.name(),
        question.path,
        question.required_force.despite_clause()
    ));
    settings::read_yes_or_no()
}

/// Records that the person was asked and said no, which the waiting agent is told; returns what they can
/// do instead.
pub(super) fn record_refusal(
    project: &Project,
    ui: Ui,
    verb: QuestionVerb,
    question: &ApprovalQuestion,
) -> Failure {
    let asked = AskedQuestion::from(question);
    let answer = Answer::NoDecision(NoDecision::Declined);
    let recorded = project.run(ui, &|ctx| answer_question(ctx, &asked, answer.clone()));
    if let Err(failure) = recorded {
        return failure;
    }
    let path = &question.path;
    Failure::refused(format!("not {}", verb.describe_undone()))
        .with_step(format!(
            "tl request-changes {path} -m TEXT   # send it back to the agent"
        ))
        .with_step(format!(
            "tl invalidate {path} --reason TEXT   # reject it, with all below"
        ))
}

/// Prints everything a person has to see before they decide, as plain lines that a pager can show. The
/// change of the parent may have been printed with another plan already.
fn print_question(ui: Ui, question: &ApprovalQuestion, is_parent_shown: bool) {
    let title = title_suffix(question.title.as_deref());
    ui.print_line(format_args!(
        "{}{title}  {}",
        styled(BOLD, &question.path),
        render_node_status(question.status)
    ));
    if let Some(file) = &question.file_path {
        ui.print_line(styled(DIM, file));
    }
    if let Some(objection) = &question.objection {
        ui.print_line(format_args!(
            "{}: {}",
            styled(WARN, describe_objection(objection)),
            objection.reason
        ));
    }
    for warning in &question.warnings {
        ui.print_line(format_args!("{}: {warning}", styled(WARN, "warning")));
    }
    if let Some(overridden) = describe_force(question.required_force) {
        ui.print_line(overridden);
    }
    // Against the text approved last, not the previous version: saving twice would hide a change.
    match (&question.base, &question.change) {
        (Some(base), Some(change)) if change.hunks.is_empty() => {
            ui.print_line(format_args!(
                "The text is the one that {} approved on {}.",
                base.by,
                base.at.format_local_minute()
            ));
        }
        (Some(base), Some(change)) => {
            ui.print_line(format_args!(
                "Changed since the text that {} approved on {}:",
                base.by,
                base.at.format_local_minute()
            ));
            diff::print_diff_additions_first(ui, change);
        }
        _ => {
            ui.print_line("It was never approved. The whole text:");
            ui.print_blank_line();
            // A character that the terminal drops is part of what is approved.
            for line in question.text.iter().flat_map(|text| text.lines()) {
                ui.print_line(format_args!(
                    "{} {}",
                    styled(DIM, "│"),
                    reveal_invisible(line)
                ));
            }
            ui.print_blank_line();
        }
    }
    if let (Some(parent), Some(change)) = (&question.parent_path, &question.parent_changes) {
        if is_parent_shown {
            ui.print_line(format_args!(
                "Changed in its parent {parent}: as shown above."
            ));
            return;
        }
        ui.print_line(format_args!("Changed in its parent {parent}:"));
        diff::print_diff_additions_first(ui, change);
    }
}

/// Prints status transitions, at most twenty.
pub(super) fn print_transitions(ui: Ui, changes: &[TransitionView]) {
    const MAX_PRINTED_TRANSITIONS: usize = 20;
    for change in changes.iter().take(MAX_PRINTED_TRANSITIONS) {
        ui.print_line(format_args!(
            "  {}  {} → {}",
            change.path,
            change.previous_status,
            render_node_status(change.new_status)
        ));
    }
    if changes.len() > MAX_PRINTED_TRANSITIONS {
        ui.print_line(format_args!(
            "  … and {} more",
            changes.len() - MAX_PRINTED_TRANSITIONS
        ));
    }
}
