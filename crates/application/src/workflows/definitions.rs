//! Loads workflow definitions: built in, or the user's own in `.throughline/workflows`.

use domain::documentation::guide_address;
use domain::ports::{FileReadResult, FolderEntryKind};
use domain::suggest::nearest_hint;
use domain::workflow::{
    BUILT_IN_WORKFLOWS, WORKFLOWS_FOLDER, Workflow, built_in_workflow, parse_workflow,
};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;

/// Maximum size of a workflow file.
const MAX_WORKFLOW_BYTES: u64 = 1024 * 1024;

/// Returns a workflow by name. A user's definition overrides a built-in one.
pub(crate) fn find_workflow(ctx: &Context<'_>, name: &str) -> Result<Workflow, Failure> {
    // The name becomes part of a path: separators and dots would leave the folder.
    let fits = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "-_".contains(c));
    let file = format!("{WORKFLOWS_FOLDER}/{name}.toml");
    let reading = if fits {
        ctx.files.read_file(&file, MAX_WORKFLOW_BYTES)
    } else {
        FileReadResult::Missing
    };
    match reading {
        FileReadResult::Text { text, .. } => {
            let invalid = |message: String| {
                Failure::invalid(message)
                    .with_step(format!("see {}", guide_address("plan-documents")))
            };
            let workflow =
                parse_workflow(&file, &text).map_err(|problem| invalid(problem.to_string()))?;
            if workflow.name != name {
                let what = format!(
                    "{file}: the workflow is named `{}`; name and file must agree",
                    workflow.name
                );
                return Err(invalid(what));
            }
            Ok(workflow)
        }
        // Not replaced by the built-in workflow: its steps and roles would silently be others.
        FileReadResult::Unreadable { why, .. } => {
            Err(Failure::invalid(format!("{file} cannot be read: {why}")))
        }
        FileReadResult::Missing => built_in_workflow(name).ok_or_else(|| {
            let names = workflow_names(ctx);
            // Agents mistype names; the suggestion saves them a call.
            let hint = nearest_hint(name, names.iter().map(String::as_str));
            Failure::not_found(format!("there is no workflow `{name}`{hint}"))
                .with_step("tl flow list")
        }),
    }
}

fn workflow_names(ctx: &Context<'_>) -> Vec<String> {
    let own = ctx
        .files
        .list_folder(WORKFLOWS_FOLDER)
        .into_iter()
        .filter(|entry| entry.kind == FolderEntryKind::File);
    let mut names: Vec<String> = own
        .filter_map(|entry| entry.name.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.extend(
        BUILT_IN_WORKFLOWS
            .iter()
            .map(|(name, _)| (*name).to_owned()),
    );
    names.sort();
    names.dedup();
    names
}

/// One workflow of the list.
#[derive(Clone, Debug, Serialize)]
pub struct WorkflowLine {
    pub name: String,
    pub title: String,
    pub steps: usize,
    /// Its file; `None` if it is built in.
    pub file_path: Option<String>,
    /// The reason why it cannot be used.
    pub problem: Option<String>,
}

/// Returns every workflow, also those that cannot be loaded.
#[must_use]
pub fn list_workflows(ctx: &Context<'_>) -> Vec<WorkflowLine> {
    let line = |name: String| {
        let file = format!("{WORKFLOWS_FOLDER}/{name}.toml");
        let is_own = matches!(
            ctx.files.read_file(&file, MAX_WORKFLOW_BYTES),
            FileReadResult::Text { .. } | FileReadResult::Unreadable { .. }
        );
        let (title, steps, problem) = match find_workflow(ctx, &name) {
            Ok(workflow) => (workflow.title, workflow.steps.len(), None),
            Err(failure) => (name.clone(), 0, Some(failure.message)),
        };
        WorkflowLine {
            name,
            title,
            steps,
            file_path: is_own.then_some(file),
            problem,
        }
    };
    workflow_names(ctx).into_iter().map(line).collect()
}
