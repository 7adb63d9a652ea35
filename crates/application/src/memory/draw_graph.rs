//! Draws the graph of relationships between characters.

use domain::memory::graph;

use super::files::{observed, stored};
use crate::context::Context;
use crate::failure::Failure;

/// Output format of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphForm {
    Svg,
    Dot,
}

/// Returns the graph of relationships.
///
/// # Errors
/// When the state cannot be read.
pub fn draw_graph(ctx: &Context<'_>, form: GraphForm) -> Result<String, Failure> {
    let memory = stored(&*observed(ctx)?)?;
    Ok(match form {
        GraphForm::Svg => graph::svg(&memory),
        GraphForm::Dot => graph::dot(&memory),
    })
}
