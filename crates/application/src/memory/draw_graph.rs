//! Draws the graph of relationships between characters.

use domain::memory::graph;

use super::memory_files::{load_memory, observe_memory};
use crate::context::Context;
use crate::failure::Failure;

/// Output format of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    Svg,
    Dot,
}

/// Returns the graph of relationships.
///
/// # Errors
/// When the state cannot be read.
pub fn draw_graph(ctx: &Context<'_>, form: GraphFormat) -> Result<String, Failure> {
    let memory = load_memory(&*observe_memory(ctx)?)?;
    Ok(match form {
        GraphFormat::Svg => graph::render_svg_graph(&memory),
        GraphFormat::Dot => graph::render_dot_graph(&memory),
    })
}
