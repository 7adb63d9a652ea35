//! Page *Undo*: exactly what undoing an operation would change, before it happens.

use application::describe_operation::{OperationDetail, describe_operation};
use application::undo::{UndoOutcome, UndoTarget, preview_undo};
use axum::extract::{Path, State};
use domain::ids::OperationId;
use domain::operation_changes::RecordChange;
use domain::text::count_with_noun;
use maud::{Markup, html};

use super::operation::{render_plan, render_records};
use super::{NavigationEntry, render_page, render_principal, render_status, render_time};
use crate::Dashboard;
use crate::components::{
    ButtonKind, render_link_button, render_page_head, render_section_head, render_submit,
};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::titles::{LogTitles, PlanTitles};

/// Maximum number of plans that are listed.
const MAX_LISTED: usize = 200;

pub(crate) async fn undo_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Path(operation): Path<u64>,
) -> Result<Page, Refusal> {
    let target = UndoTarget::Operation(OperationId(operation));
    let preview = dashboard
        .ask(move |ctx| preview_undo(ctx, target))
        .await
        // What cannot be undone leads back to the list, where another operation can be chosen.
        .map_err(Refusal::on("/timeline".to_owned()))?;
    let undone = dashboard
        .ask_tree(move |ctx, known| describe_operation(ctx, known, OperationId(operation)))
        .await?;
    let listed = preview.changed_entities.iter().take(MAX_LISTED);
    let titles = dashboard
        .load_titles(listed.map(|one| one.path.clone()))
        .await;
    let log = dashboard.load_log_titles(&preview.undone).await;
    Ok(render_page(
        NavigationEntry::Timeline,
        "Undo",
        &render_content(&rights, &undone, &preview, (&titles, &log)),
    ))
}

fn render_content(
    rights: &Rights,
    undone: &OperationDetail,
    preview: &UndoOutcome,
    (titles, log): (&PlanTitles, &LogTitles),
) -> Markup {
    let changed = &preview.changed_entities;
    let operation = undone.operation.operation;
    let about = html! { "Nothing has changed yet. The log keeps the operation and its undo, and the undo can be undone." };
    html! {
        (render_page_head(&format!("Undo operation {operation}?"), &about, &html! {}))
        ul.rows { @for one in &preview.undone {
            li { span { (log.render_summary(one)) } span.end.quiet { (render_principal(&one.by)) " · " (render_time(one.at)) } }
        } }
        section #undone {
            (render_section_head("What is taken back", "", &html! {}))
            @if undone.plans.is_empty() && undone.records.is_empty() { p.quiet { "No plan and no record." } }
            @for plan in &undone.plans { (render_plan(plan)) }
            @if undone.more > 0 { p.quiet { "and " (count_with_noun(undone.more, "more plan", "more plans")) } }
            (render_records(&undone.records, RecordChange::undone))
        }
        section #changes {
            (render_section_head("Statuses that change", &count_with_noun(changed.len(), "plan", "plans"), &html! {}))
            @if changed.is_empty() { p.quiet { "No status changes." } }
            ul.rows { @for one in changed.iter().take(MAX_LISTED) {
                li {
                    (titles.link_to(&one.path))
                    span.end { (render_status(one.previous_status)) span aria-label="becomes" { "→" } (render_status(one.new_status)) }
                }
            } }
            @if changed.len() > MAX_LISTED { p.quiet { "and " (changed.len() - MAX_LISTED) " more" } }
        }
        @if !preview.files.is_empty() || !preview.kept_files.is_empty() {
            section #files {
                (render_section_head("Files", "", &html! {}))
                ul.rows {
                    @for file in &preview.files { li { code { (file) } span.end { "put back as it was before" } } }
                    @for file in &preview.kept_files { li { code { (file) } span.end { "edited since: stays as it is" } } }
                }
            }
        }
        @if rights.allow("undo") {
            form.buttons action="/do/undo" method="post" {
                input type="hidden" name="operation" value=(operation);
                (render_submit(ButtonKind::Primary, &describe_undo(preview, undone), None))
                (render_link_button(ButtonKind::Ghost, "Leave it as it is", "/timeline"))
            }
        } @else { (rights.explain_missing("undo")) }
    }
}

/// Returns the words of the button: how much changes, of what there is.
fn describe_undo(preview: &UndoOutcome, undone: &OperationDetail) -> String {
    match (preview.changed_nodes, undone.records.len()) {
        (0, 0) => "Undo".to_owned(),
        (0, records) => format!(
            "Undo: {}",
            count_with_noun(records, "record changes", "records change")
        ),
        (plans, _) => format!(
            "Undo: {}",
            count_with_noun(plans, "plan changes", "plans change")
        ),
    }
}
