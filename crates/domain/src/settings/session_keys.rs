//! Setting keys of sessions: governance, signals, briefings, notes.

use super::{SettingKey, parse_number, set_governance, set_number, split_list};

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey {
        name: "policy.governance",
        default: "\"assisted\"",
        allowed: "`strict`, `assisted`, `permissive`",
        environment: &["THROUGHLINE_GOVERNANCE"],
        text: "How much a session has to declare about its work, in a project with a trail. `strict`: no file is written before an intent is declared. `assisted`: signals are reported to the agent. `permissive`: signals are shown on request (`tl drift`). The environment can only make it stricter.",
        set: |settings, text| set_governance(&mut settings.policy.governance, text),
    },
    SettingKey {
        name: "policy.signals.section_turns",
        default: "8",
        allowed: "a number; 0 turns it off",
        environment: &[],
        text: "Maximum number of tool calls since the session last mapped its position, before it is asked for a checkpoint.",
        set: |settings, text| set_number(&mut settings.policy.signals.section_turns, text),
    },
    SettingKey {
        name: "policy.signals.reads_without_writes",
        default: "12",
        allowed: "a number; 0 turns it off",
        environment: &[],
        text: "Maximum number of reads and searches without a write since then, before it is asked whether it is stuck.",
        set: |settings, text| set_number(&mut settings.policy.signals.reads_without_writes, text),
    },
    SettingKey {
        name: "policy.signals.failures",
        default: "3",
        allowed: "a number; 0 turns it off",
        environment: &[],
        text: "Number of consecutive failed tool calls before the agent is advised to step back.",
        set: |settings, text| set_number(&mut settings.policy.signals.failures, text),
    },
    SettingKey {
        name: "policy.signals.stuck_words_seen",
        default: "3",
        allowed: "a number; 0 turns it off",
        environment: &[],
        text: "Number of calls that mention being stuck, retrying or going in circles, before it is reported.",
        set: |settings, text| set_number(&mut settings.policy.signals.stuck_words_seen, text),
    },
    SettingKey {
        name: "policy.signals.repetitions",
        default: "4",
        allowed: "a number; 0 turns it off",
        environment: &[],
        text: "Number of times a tactic is set with nearly the same text, before it is reported.",
        set: |settings, text| set_number(&mut settings.policy.signals.repetitions, text),
    },
    SettingKey {
        name: "policy.signals.undeclared_writes",
        default: "1",
        allowed: "a number; 0 turns it off",
        environment: &[],
        text: "Number of writes without a declared action, before it is reported.",
        set: |settings, text| set_number(&mut settings.policy.signals.undeclared_writes, text),
    },
    SettingKey {
        name: "policy.signals.completed_branches",
        default: "5",
        allowed: "a number; 0 turns it off",
        environment: &[],
        text: "Number of finished branches of the trail, before pruning is suggested.",
        set: |settings, text| set_number(&mut settings.policy.signals.completed_branches, text),
    },
    SettingKey {
        name: "policy.signals.similar_percent",
        default: "80",
        allowed: "a number from 1 to 100",
        environment: &[],
        text: "Minimum similarity, in percent, of two texts that count as nearly the same.",
        set: |settings, text| {
            // With 0 any two texts would count as the same.
            settings.policy.signals.similar_percent = parse_number::<u8>(text)?.clamp(1, 100);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.signals.warm_minutes",
        default: "30",
        allowed: "a number of minutes",
        environment: &[],
        text: "Minimum inactivity that is reported as a gap.",
        set: |settings, text| set_number(&mut settings.policy.signals.warm_minutes, text),
    },
    SettingKey {
        name: "policy.signals.stale_minutes",
        default: "120",
        allowed: "a number of minutes",
        environment: &[],
        text: "Minimum inactivity after which context was probably lost.",
        set: |settings, text| set_number(&mut settings.policy.signals.stale_minutes, text),
    },
    SettingKey {
        name: "policy.signals.stuck_words",
        default: "[]",
        allowed: "words or runs of words in any language",
        environment: &[],
        text: "Words that indicate being stuck, in addition to the built-in ones.",
        set: |settings, text| {
            settings.policy.signals.stuck_words = split_list(text);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.signals.off",
        default: "[]",
        allowed: "names of signals: `failures`, `undeclared-writes`, `repetition`, `stuck-words`, `time-gap`, `section-turns`, `reads-without-writes`, `missing-tree`, `completed-branches`, `warm-gap`",
        environment: &[],
        text: "Disabled signals.",
        set: |settings, text| {
            settings.policy.signals.off = split_list(text);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.briefing.characters",
        default: "6000",
        allowed: "a number of characters",
        environment: &["THROUGHLINE_BRIEFING_CHARACTERS"],
        text: "Maximum length of the briefing an agent gets, in characters. A host's own limit applies too.",
        set: |settings, text| set_number(&mut settings.policy.briefing.characters, text),
    },
    SettingKey {
        name: "policy.briefing.tokens",
        default: "1500",
        allowed: "a number of tokens, estimated",
        environment: &["THROUGHLINE_BRIEFING_TOKENS"],
        text: "Maximum length of the briefing an agent gets, in tokens.",
        set: |settings, text| set_number(&mut settings.policy.briefing.tokens, text),
    },
    SettingKey {
        name: "policy.notes_kept_days",
        default: "0",
        allowed: "a number of days; 0 keeps them for ever",
        environment: &[],
        text: "Maximum age of notes (`tl mem`), after which `tl prune` removes them. Anchors stay.",
        set: |settings, text| set_number(&mut settings.policy.notes_kept_days, text),
    },
];
