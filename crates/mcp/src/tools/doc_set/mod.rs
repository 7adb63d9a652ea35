//! Tools for plan documents.

mod change;
mod compare;
mod new;
mod reconcile;
mod show;
mod write_context;

use application::plan_documents::accept::restore_document;
use application::plan_documents::choose::choose_document;
use application::plan_documents::freeze_plan::freeze_plan;
use application::plan_documents::render::render_plan;
use application::plan_documents::revise::revise_document;
use application::plan_documents::show::list_documents;
use application::plan_documents::validate::validate_plan;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::{AnyObject, Nothing};
use crate::tools::{Hints, Tool};

/// The tools of this set, in listing order.
pub(super) fn list_tools() -> Vec<Tool> {
    vec![
        Hints::GOES_ON.define_tool(
            "doc_new",
            "Use to begin a plan document; it becomes the current one.",
            new::run,
        ),
        Hints::READS.define_tool(
            "doc_list",
            "Use to see all plan documents, and which is current.",
            |ctx, Nothing {}| AnyObject::list("documents", &list_documents(ctx)?),
        ),
        Hints::CHANGES.define_tool(
            "doc_use",
            "Use to make a plan document the current one.",
            |ctx, DocumentName { document }| AnyObject::new(&choose_document(ctx, &document)?),
        ),
        Hints::READS
            .define_tool(
                "doc_show",
                "Use to read a plan document, or one entity of it with the version a change must name.",
                show::run,
            )
            .listed(),
        // Adding the same again adds a second entity.
        Hints::GOES_ON.define_tool(
            "doc_change",
            "Use to change a plan document, all or nothing. `as` names what a change adds, \"@name\" in a later one refers to it.",
            change::run,
        ),
        Hints::CHANGES.define_tool(
            "doc_context",
            "Use to write down what the user said before the design, and what was found out since: lists of texts.",
            write_context::run,
        ),
        // Read-only: unlike the command line it cannot accept a document.
        Hints::READS.define_tool(
            "doc_validate",
            "Use to see what is wrong, missing or worth a look in a plan document, with JSON pointers.",
            |ctx, DocumentOnly { document }| validate_plan(ctx, document.as_deref()),
        ),
        // Irreversible for the document: after it nothing can be edited.
        Hints::DESTROYS.define_tool(
            "doc_freeze",
            "Use when a plan document is complete: nothing in it changes any more, and its milestones can be worked on.",
            |ctx, DocumentOnly { document }| freeze_plan(ctx, document.as_deref()),
        ),
        // Replaces what was written into the file by hand; its text is kept as a version.
        Hints::DESTROYS.define_tool(
            "doc_restore",
            "Use when plan.json was edited by hand and must not have been: puts the recorded text back.",
            |ctx, DocumentOnly { document }| {
                AnyObject::new(&restore_document(ctx, document.as_deref())?)
            },
        ),
        Hints::GOES_ON.define_tool(
            "doc_revise",
            "Use when a frozen plan document has to change: begins its next revision.",
            |ctx, DocumentOnly { document }| revise_document(ctx, document.as_deref()),
        ),
        Hints::CHANGES.define_tool(
            "doc_render",
            "Use to write a readable page (plan.md) of a plan document.",
            |ctx, DocumentOnly { document }| AnyObject::new(&render_plan(ctx, document.as_deref())?),
        ),
        Hints::READS.define_tool(
            "doc_diff",
            "Use to see what changed since the previous revision, or between two plan documents.",
            compare::run,
        ),
        Hints::READS.define_tool(
            "doc_reconcile",
            "Use at the end of the work: compares a frozen plan document with what changed in the repository, and with its evidence.",
            reconcile::run,
        ),
    ]
}

/// A document; the current one by default.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentOnly {
    /// id; without it the current one
    #[serde(default)]
    document: Option<String>,
}

/// A document by name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentName {
    /// its id
    document: String,
}
