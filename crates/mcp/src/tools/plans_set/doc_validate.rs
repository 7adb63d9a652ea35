//! The tool `doc_validate`.

use application::plan_documents::validate::{Validation, validate_plan};
use application::{Context, Failure};

use super::DocumentOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct DocValidate;

impl ToolDefinition for DocValidate {
    const NAME: &'static str = "doc_validate";
    const DESCRIPTION: &'static str =
        "Use to see what is wrong, missing or worth a look in a plan document, with JSON pointers.";
    const SET: Toolset = Toolset::Plans;
    // Read-only: unlike the command line it cannot accept a document.
    const HINTS: Hints = Hints::READS;
    type Arguments = DocumentOnly;
    type Outcome = Validation;

    fn run(
        ctx: &Context<'_>,
        DocumentOnly { document }: DocumentOnly,
    ) -> Result<Validation, Failure> {
        validate_plan(ctx, document.as_deref())
    }
}
