//! The settings of the loop that plans and writes a story.

use super::{Key, number, one_of};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "policy.generation.recent_scenes_count",
        default: "3",
        allowed: "a number",
        environment: &[],
        text: "So many of the last scenes are told to the planner and the writer with their whole summaries.",
        set: |settings, text| {
            settings.policy.generation.recent_scenes_count = number(text)?;
            Ok(())
        },
    },
    Key {
        name: "policy.generation.include_overall_summary",
        default: "true",
        allowed: "`true`, `false`",
        environment: &[],
        text: "Whether the planner is told one line of every scene so far.",
        set: |settings, text| {
            settings.policy.generation.include_overall_summary =
                one_of(text, &[("true", true), ("false", false)])?;
            Ok(())
        },
    },
    Key {
        name: "policy.generation.context_tokens",
        default: "12000",
        allowed: "a number",
        environment: &["THROUGHLINE_CONTEXT_TOKENS"],
        text: "About so many tokens of the story are in a prompt. What does not fit is left out, the least important first.",
        set: |settings, text| {
            settings.policy.generation.context_tokens = number(text)?;
            Ok(())
        },
    },
    Key {
        name: "policy.generation.scene_words",
        default: "900",
        allowed: "a number",
        environment: &[],
        text: "About so many words has a scene. Less than half or more than twice as many is a finding.",
        set: |settings, text| {
            settings.policy.generation.scene_words = number(text)?;
            Ok(())
        },
    },
    Key {
        name: "policy.generation.revisions",
        default: "2",
        allowed: "a number",
        environment: &[],
        text: "So often a scene is revised before it waits for a person.",
        set: |settings, text| {
            settings.policy.generation.revisions = number(text)?;
            Ok(())
        },
    },
];
