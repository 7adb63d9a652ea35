//! The tool `get_generation_status`.

use application::generation::view::{GenerationView, show_generation};
use application::{Context, Failure};

use super::SceneOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct GetGenerationStatus;

impl ToolDefinition for GetGenerationStatus {
    const NAME: &'static str = "get_generation_status";
    const DESCRIPTION: &'static str = "Use to see how a scene that is being written stands: its step, what was found, whether its blueprint changed.";
    const SET: Toolset = Toolset::Tick;
    const HINTS: Hints = Hints::READS;
    type Arguments = SceneOnly;
    type Outcome = GenerationView;

    fn run(
        ctx: &Context<'_>,
        SceneOnly { scene_id }: SceneOnly,
    ) -> Result<GenerationView, Failure> {
        show_generation(ctx, &[scene_id])
    }
}
