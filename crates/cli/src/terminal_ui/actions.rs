//! Use cases behind the terminal interface.

use application::answer_question::{Answer, AnswerOutcome, AskedQuestion, answer_question};
use application::approval_question::build_question;
use application::comment::add_comment;
use application::inbox::{InboxGroup, InboxView, WaitCause, load_inbox};
use application::read_plan::read_plan;
use application::revalidate::{KeepRequest, keep_one};
use application::show_tree::show_tree;
use application::tree_cache::{CachedTree, record_file_changes};
use application::undo::{UndoTarget, preview_undo, undo_operations};
use application::views::TreeView;
use application::{Context, Failure};
use domain::approval::Force;
use domain::ids::OperationId;
use domain::text::{clean_line, count_with_noun};
use web::HookLedger;

use super::detail::Detail;
use super::state::{Mode, OtherWaiting, PlanRow, Request, ReviewRoom};
use crate::gate_stats::ProjectHookLedger;
use crate::ui::Ui;
use crate::wiring::Project;

/// Runs requests on a project.
pub(super) struct ActionRunner<'p> {
    project: &'p Project,
}

impl<'p> ActionRunner<'p> {
    pub(super) fn new(project: &'p Project) -> Self {
        Self { project }
    }

    pub(super) fn project_name(&self) -> String {
        let name = self.project.root.file_name();
        name.map_or_else(String::new, |name| clean_line(&name.to_string_lossy()))
    }

    /// Runs a use case without output: a message would be drawn across the screen.
    fn run<T>(&self, use_case: impl Fn(&Context<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let ui = Ui {
            json: false,
            silent: true,
        };
        self.project.run(ui, &use_case)
    }

    /// Carries out a request; a failure becomes the notice.
    pub(super) fn carry_out(&self, room: &mut ReviewRoom, request: Request) {
        let before = room.selected_path();
        let is_decision = !matches!(
            request,
            Request::LoadDetail | Request::Refresh | Request::PreviewUndo
        );
        match self.try_carry_out(room, request) {
            Ok(Some(notice)) => room.notice = clean_line(&notice),
            Ok(None) => {}
            Err(failure) => {
                let step = failure.next_steps.first();
                let step = step.map_or_else(String::new, |step| format!(" (next: {step})"));
                room.notice = clean_line(&format!("{}{step}", failure.message));
            }
        }
        // Also after a failure: an answer is refused because the text changed, and the new one is
        // what has to be read now.
        if is_decision && let Err(failure) = self.load_lists(room) {
            room.notice = clean_line(&failure.message);
        }
        if is_decision || before != room.selected_path() {
            self.load_detail(room);
        }
    }

    fn try_carry_out(
        &self,
        room: &mut ReviewRoom,
        request: Request,
    ) -> Result<Option<String>, Failure> {
        match request {
            Request::Quit => Ok(None),
            Request::LoadDetail => {
                self.load_detail(room);
                Ok(None)
            }
            Request::Refresh => self.load_lists(room).map(|()| None),
            // What the question shows is overridden by its yes, and nothing else.
            Request::Approve => self.answer(room, &Answer::Approve { force: Force::No }),
            Request::SendBack(text) => self.answer(room, &Answer::RequestChanges { text }),
            Request::Reject(reason) => self.answer(room, &Answer::Reject { reason }),
            Request::Keep => self.keep_plan(room),
            Request::Comment(text) => {
                let words = [room.detail.path.clone()];
                let said = self.run(|ctx| add_comment(ctx, &words, &text))?;
                Ok(Some(format!("commented on {}", said.path)))
            }
            Request::PreviewUndo => self.preview_undo(room).map(|()| None),
            Request::Undo(operation) => {
                // The operation that the preview named: another one may have been recorded since.
                let target = UndoTarget::Operation(OperationId(operation));
                let undone = self.run(|ctx| undo_operations(ctx, target))?;
                let plans = count_with_noun(undone.changed_nodes, "plan", "plans");
                Ok(Some(format!("undone; {plans} changed")))
            }
        }
    }

    fn answer(&self, room: &ReviewRoom, answer: &Answer) -> Result<Option<String>, Failure> {
        let Some(question) = &room.detail.question else {
            return Ok(None);
        };
        // The question as it was drawn. A text that changed since makes the answer fail, so the
        // plan on the screen need not be read again at each refresh.
        let asked = AskedQuestion::from(question);
        let outcome = self.run(|ctx| answer_question(ctx, &asked, answer.clone()))?;
        Ok(Some(match outcome {
            AnswerOutcome::Approved(approved) => format!(
                "{}; {} (u undoes it)",
                approved.message,
                describe_changed(approved.changed_entities.len())
            ),
            AnswerOutcome::ChangesRequested(_) => {
                format!("changes requested of {} (u undoes it)", asked.path)
            }
            AnswerOutcome::Rejected(_) => format!("rejected {} (u undoes it)", asked.path),
            AnswerOutcome::NoDecision(_) => "no decision".to_owned(),
        }))
    }

    fn keep_plan(&self, room: &ReviewRoom) -> Result<Option<String>, Failure> {
        let Some(question) = &room.detail.question else {
            return Ok(None);
        };
        let request = KeepRequest {
            node: vec![question.path.clone()],
            force: question.required_force,
            shown: Some(question.expected_versions()),
        };
        let kept = self.run(|ctx| keep_one(ctx, &request))?;
        Ok(Some(format!(
            "kept {}; {} (u undoes it)",
            question.path,
            describe_changed(kept.reinstated_entities.len())
        )))
    }

    fn preview_undo(&self, room: &mut ReviewRoom) -> Result<(), Failure> {
        let preview = self.run(|ctx| preview_undo(ctx, UndoTarget::Newest))?;
        let Some(newest) = preview.undone.first() else {
            "there is nothing of yours to undo".clone_into(&mut room.notice);
            return Ok(());
        };
        let plans = count_with_noun(preview.changed_nodes, "plan changes", "plans change");
        room.mode = Mode::Confirm {
            question: clean_line(&format!("Undo \"{}\"? {plans}.", newest.summary)),
            request: Request::Undo(newest.operation.0),
        };
        Ok(())
    }

    /// Reads both lists.
    pub(super) fn load_lists(&self, room: &mut ReviewRoom) -> Result<(), Failure> {
        let hooks = ProjectHookLedger {
            root: self.project.root.clone(),
        };
        let view = self.run(|ctx| {
            // An edited file becomes an operation only by a scan.
            record_file_changes(ctx)?;
            load_inbox(ctx, &CachedTree::read(ctx)?, &hooks.blocked())
        })?;
        let groups = view.groups.iter();
        let inbox = groups
            .flat_map(|group| {
                let cause = describe_group(group);
                group.items.iter().map(move |item| PlanRow {
                    path: item.plan.path.clone(),
                    title: item.plan.title.as_deref().map(clean_line),
                    status: item.status,
                    depth: 0,
                    has_children: false,
                    cause: cause.clone(),
                    stopped: item
                        .stopped
                        .first()
                        .map(|one| clean_line(one.display_name())),
                })
            })
            .collect();
        let forest = self.run(|ctx| show_tree(ctx, &[]))?;
        let mut tree = Vec::new();
        for root in &forest {
            push_rows(&mut tree, root, 0);
        }
        room.others = list_others(&view);
        room.replace_lists(inbox, tree);
        Ok(())
    }

    /// Shows the selected plan.
    fn load_detail(&self, room: &mut ReviewRoom) {
        let Some(path) = room.selected_path() else {
            room.detail = Detail::default();
            return;
        };
        let words = [path.clone()];
        let reason = match self.run(|ctx| build_question(ctx, &words)) {
            Ok(Some(question)) => {
                room.detail = Detail::of_question(question);
                return;
            }
            Ok(None) => "approved: there is nothing to decide".to_owned(),
            Err(failure) => failure.message,
        };
        match self.run(|ctx| read_plan(ctx, &words, None)) {
            Ok(plan) => {
                room.detail = Detail::of_text(
                    &path,
                    plan.node.title.as_deref(),
                    plan.node.status,
                    &reason,
                    plan.text.as_deref(),
                );
            }
            Err(failure) => {
                room.detail = Detail::default();
                room.notice = clean_line(&failure.message);
            }
        }
    }
}

fn describe_changed(count: usize) -> String {
    match count {
        0 => "no other plan changes".to_owned(),
        count => count_with_noun(count, "other plan changes", "other plans change"),
    }
}

/// Lists what waits beside the plans.
fn list_others(view: &InboxView) -> OtherWaiting {
    let findings = view.findings.iter().map(|one| {
        clean_line(&format!(
            "{}  {} · tl review status --of {}",
            one.item.check, one.subject, one.subject
        ))
    });
    let stopped = view.stopped.iter().map(|gate| {
        let place = gate.plan.as_deref().unwrap_or("its work");
        clean_line(&format!("{} at {place}: {} gate", gate.host, gate.gate))
    });
    OtherWaiting {
        findings: findings.collect(),
        stopped: stopped.collect(),
    }
}

/// Describes why the plans of a group wait, and what the cause touches.
fn describe_group(group: &InboxGroup) -> String {
    let origin = group.origin.as_ref().map_or("", |plan| plan.display_name());
    let touched: Vec<String> = group
        .touched
        .iter()
        .map(|one| count_with_noun(one.count, &one.level, &format!("{}s", one.level)))
        .collect();
    let cause = match (group.cause, origin) {
        (WaitCause::Changed, origin) => format!("{origin} changed"),
        (WaitCause::New, "") => "new".to_owned(),
        (WaitCause::New, origin) => format!("new in {origin}"),
        (WaitCause::Unusable, _) => "missing or unreadable".to_owned(),
    };
    match touched.is_empty() {
        true => clean_line(&cause),
        false => clean_line(&format!("{cause}: {}", touched.join(", "))),
    }
}

fn push_rows(rows: &mut Vec<PlanRow>, node: &TreeView, depth: usize) {
    rows.push(PlanRow {
        path: node.path.clone(),
        title: node.title.as_deref().map(clean_line),
        status: node.status,
        depth,
        has_children: !node.children.is_empty(),
        cause: String::new(),
        stopped: None,
    });
    for child in &node.children {
        push_rows(rows, child, depth + 1);
    }
}
