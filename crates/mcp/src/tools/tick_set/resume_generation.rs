//! The tool `resume_generation`.

use application::generation::advance::{NextGenerationStep, next_step};
use application::generation::start_generation::resume_generation;
use application::{Context, Failure};

use super::SceneOnly;
use crate::tools::{Hints, ToolDefinition, Toolset};

pub(crate) struct ResumeGeneration;

impl ToolDefinition for ResumeGeneration {
    const NAME: &'static str = "resume_generation";
    const DESCRIPTION: &'static str = "Use to go on with a scene that stopped: returns the step it is at. A scene that is held is kept as it is.";
    const SET: Toolset = Toolset::Tick;
    const HINTS: Hints = Hints::CHANGES;
    type Arguments = SceneOnly;
    type Outcome = NextGenerationStep;

    fn run(
        ctx: &Context<'_>,
        SceneOnly { scene_id }: SceneOnly,
    ) -> Result<NextGenerationStep, Failure> {
        // The resolved path of the scene goes on, so that both calls mean the same one.
        let resumed = resume_generation(ctx, &[scene_id])?;
        next_step(ctx, &[resumed.scene])
    }
}
