//! The tool `get_entity_state`.

use application::show_node::show_node;
use application::views::NodeView;
use application::{Context, Failure};

use crate::tools::arguments::EntityOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct GetEntityState;

impl ToolDefinition for GetEntityState {
    const NAME: &'static str = "get_entity_state";
    const DESCRIPTION: &'static str =
        "Use before you rely on a plan: status, version, parent, children, file.";
    const SET: Toolset = Toolset::Story;
    const HINTS: Hints = Hints::READS;
    type Arguments = EntityOnly;
    type Outcome = NodeView;

    fn run(ctx: &Context<'_>, entity: EntityOnly) -> Result<NodeView, Failure> {
        show_node(ctx, &entity.words())
    }
}
