//! The tool `doc_freeze`.

use application::plan_documents::freeze_plan::{FrozenDocument, freeze_plan};
use application::{Context, Failure};

use super::DocumentOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct DocFreeze;

impl ToolDefinition for DocFreeze {
    const NAME: &'static str = "doc_freeze";
    const DESCRIPTION: &'static str = "Use when a plan document is complete: nothing in it changes any more, and its milestones can be worked on.";
    const SET: Toolset = Toolset::Plans;
    // Irreversible for the document: after it nothing can be edited.
    const HINTS: Hints = Hints::DESTROYS;
    type Arguments = DocumentOnly;
    type Outcome = FrozenDocument;

    fn run(
        ctx: &Context<'_>,
        DocumentOnly { document }: DocumentOnly,
    ) -> Result<FrozenDocument, Failure> {
        freeze_plan(ctx, document.as_deref())
    }
}
