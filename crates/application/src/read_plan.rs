//! Read a plan: its state, its text and its sections, as recorded.

use domain::section::split_sections;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::show_node::show_node;
use crate::views::NodeView;

/// A plan with its text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanText {
    #[serde(flatten)]
    pub node: NodeView,
    /// The headings of the text, in order.
    pub sections: Vec<String>,
    /// The whole text, or that of one section; `None` if the plan has none.
    pub text: Option<String>,
}

/// Returns a plan with its text, or with one section of it.
///
/// # Errors
/// When there is no such plan or section, or the state cannot be read.
pub fn read_plan(
    ctx: &Context<'_>,
    words: &[String],
    section: Option<&str>,
) -> Result<PlanText, Failure> {
    let node = show_node(ctx, words)?;
    // From the store, not from the file: the text belongs to the version the status is about.
    let text = match node.version_hash {
        Some(version) => ctx.store.begin_read()?.load_text(version)?,
        None => None,
    };
    let parts = text.as_deref().map(split_sections).unwrap_or_default();
    let sections: Vec<String> = parts
        .iter()
        .map(|part| part.heading.clone())
        .filter(|heading| !heading.is_empty())
        .collect();
    let text = match section {
        None => text,
        Some(wanted) => {
            let is_wanted = |heading: &str| heading.eq_ignore_ascii_case(wanted.trim());
            let found = parts.iter().find(|part| is_wanted(&part.heading));
            let found = found.ok_or_else(|| missing_section(&node.path, wanted, &sections))?;
            Some(found.body.clone())
        }
    };
    Ok(PlanText {
        node,
        sections,
        text,
    })
}

fn missing_section(path: &str, wanted: &str, sections: &[String]) -> Failure {
    let hint = domain::suggest::nearest_hint(wanted, sections.iter().map(String::as_str));
    Failure::not_found(format!(
        "`{path}` has no section `{wanted}`{hint}; it has: {}",
        sections.join(", ")
    ))
}
