//! Setting keys of story generation: `policy.generation.*`.

use super::{SettingKey, parse_number, parse_one_of};

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey {
        name: "policy.generation.recent_scenes_count",
        default: "3",
        allowed: "a number",
        environment: &[],
        text: "Number of recent scenes whose full summaries are in the prompts of the planner and the writer.",
        set: |settings, text| {
            settings.policy.generation.recent_scenes_count = parse_number(text)?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.generation.include_overall_summary",
        default: "true",
        allowed: "`true`, `false`",
        environment: &[],
        text: "Whether the planner's prompt has one line about every scene so far.",
        set: |settings, text| {
            settings.policy.generation.include_overall_summary =
                parse_one_of(text, &[("true", true), ("false", false)])?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.generation.context_tokens",
        default: "12000",
        allowed: "a number",
        environment: &["THROUGHLINE_CONTEXT_TOKENS"],
        text: "Maximum number of tokens of story context in a prompt (estimated). What does not fit is left out, the least important first.",
        set: |settings, text| {
            settings.policy.generation.context_tokens = parse_number(text)?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.generation.scene_words",
        default: "900",
        allowed: "a number",
        environment: &[],
        text: "Target length of a scene in words. Less than half or more than twice as many is a finding.",
        set: |settings, text| {
            settings.policy.generation.scene_words = parse_number(text)?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.generation.revisions",
        default: "2",
        allowed: "a number",
        environment: &[],
        text: "Maximum number of automatic revisions of a scene before a person has to decide.",
        set: |settings, text| {
            settings.policy.generation.revisions = parse_number(text)?;
            Ok(())
        },
    },
];
