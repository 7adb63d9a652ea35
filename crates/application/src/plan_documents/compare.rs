//! Compare two plan documents, or a document with the one it revises.

use domain::plan_document::{EntityChange, changes_between, read_plan, render_markdown};
use serde::Serialize;

use super::document_files::find_and_open;
use super::take_over::read_documents;
use crate::context::Context;
use crate::failure::Failure;
use crate::views::DiffView;

/// The difference between two plans.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub older: String,
    pub newer: String,
    /// The changed entities, by id.
    pub changes: Vec<EntityChange>,
    /// A diff of the rendered pages, for people.
    pub diff: DiffView,
}

/// Compares `older` with `newer`. Without `older`: the document it revises, else its previous
/// version.
///
/// # Errors
/// When one of them does not exist, or there is nothing to compare with.
pub fn compare_documents(
    ctx: &Context<'_>,
    older: Option<&str>,
    newer: Option<&str>,
) -> Result<Comparison, Failure> {
    let state = read_documents(ctx, newer)?;
    let newer = find_and_open(ctx, &*state, newer)?;
    let before = match older
        .map(str::to_owned)
        .or_else(|| newer.record.revises.clone())
    {
        Some(older) => {
            let older = find_and_open(ctx, &*state, Some(&older))?;
            (older.id, older.plan)
        }
        None => {
            let versions = state.load_versions(newer.record.node)?;
            // Not simply the second one: after a restore the current text need not be the newest.
            let earlier = versions
                .iter()
                .find(|version| version.hash != newer.record.written);
            let Some(earlier) = earlier else {
                let what = format!(
                    "`{}` has one version and revises nothing: there is nothing to compare",
                    newer.id
                );
                return Err(Failure::not_found(what));
            };
            let text = state.load_text(earlier.hash)?.unwrap_or_default();
            let plan = read_plan(&text).map_err(|_| {
                let what = format!(
                    "the previous version ({}) is not a readable plan",
                    earlier.hash.short_hex()
                );
                Failure::refused(what).with_step(format!("tl versions {}", newer.id))
            })?;
            (format!("{} {}", newer.id, earlier.hash.short_hex()), plan)
        }
    };
    let (older, plan) = before;
    // Without the version line: it differs in every pair and would always be the first hunk.
    let page = |plan: &domain::plan_document::Plan| render_markdown(plan, "");
    let diff = DiffView::from_texts(
        older.clone(),
        &page(&plan),
        newer.id.clone(),
        &page(&newer.plan),
    );
    Ok(Comparison {
        changes: changes_between(&plan, &newer.plan),
        older,
        newer: newer.id,
        diff,
    })
}
