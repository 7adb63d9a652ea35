//! Work level of a ticket (patch, task, feature): a heuristic with reasons, and the limits beyond
//! which work exceeds its level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;
use crate::policy::GatePolicy;
use crate::record::Recorded;

named_enum! {
    /// The size of a piece of work.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
    )]
    pub enum WorkLevel {
        Patch = "patch",
        Task = "task",
        Feature = "feature",
    }
}

impl WorkLevel {
    /// Parses a level's name, ignoring case.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == word.trim().to_lowercase())
    }
}

/// Thresholds of work by its level: part of the policy that a file can only make stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LevelLimits {
    pub patch_files: u64,
    pub task_files: u64,
    pub scenarios: u64,
    pub patch_loc_percent: u64,
    pub task_loc_percent: u64,
}

impl Default for LevelLimits {
    fn default() -> Self {
        Self::from_gates(&GatePolicy::default())
    }
}

impl LevelLimits {
    /// Returns the limits that the settings of the gates name.
    #[must_use]
    pub fn from_gates(gates: &GatePolicy) -> Self {
        Self {
            patch_files: gates.scope_patch_files,
            task_files: gates.scope_task_files,
            scenarios: gates.scope_scenarios,
            patch_loc_percent: gates.loc_patch_percent,
            task_loc_percent: gates.loc_task_percent,
        }
    }

    /// Puts the limits into the settings of the gates.
    pub fn apply_to(self, gates: &mut GatePolicy) {
        gates.scope_patch_files = self.patch_files;
        gates.scope_task_files = self.task_files;
        gates.scope_scenarios = self.scenarios;
        gates.loc_patch_percent = self.patch_loc_percent;
        gates.loc_task_percent = self.task_loc_percent;
    }

    /// Returns the stricter of each: a lower limit blocks earlier.
    #[must_use]
    pub fn stricter_of_each(self, other: Self) -> Self {
        Self {
            patch_files: self.patch_files.min(other.patch_files),
            task_files: self.task_files.min(other.task_files),
            scenarios: self.scenarios.min(other.scenarios),
            patch_loc_percent: self.patch_loc_percent.min(other.patch_loc_percent),
            task_loc_percent: self.task_loc_percent.min(other.task_loc_percent),
        }
    }

    /// Returns the settings with their values.
    #[must_use]
    pub fn list_settings(self) -> [(&'static str, u64); 5] {
        [
            ("policy.gates.loc_patch_percent", self.patch_loc_percent),
            ("policy.gates.loc_task_percent", self.task_loc_percent),
            ("policy.gates.scope_patch_files", self.patch_files),
            ("policy.gates.scope_task_files", self.task_files),
            ("policy.gates.scope_scenarios", self.scenarios),
        ]
    }

    /// Returns the maximum number of files that work of a level touches, over all its commits.
    #[must_use]
    pub fn max_files(self, level: WorkLevel) -> Option<u64> {
        match level {
            WorkLevel::Patch => Some(self.patch_files),
            WorkLevel::Task => Some(self.task_files),
            WorkLevel::Feature => None,
        }
    }

    /// Returns the maximum number of uncommitted changed lines of work of a level. Never above the
    /// project's limit.
    #[must_use]
    pub fn max_uncommitted_lines(self, level: WorkLevel, loc_limit: u64) -> u64 {
        let percent = match level {
            WorkLevel::Patch => self.patch_loc_percent,
            WorkLevel::Task => self.task_loc_percent,
            WorkLevel::Feature => 100,
        };
        let share = u128::from(loc_limit) * u128::from(percent.min(100));
        u64::try_from(share.div_ceil(100)).unwrap_or(loc_limit)
    }
}

/// The assessed size of a ticket. A record, keyed by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessment {
    pub level: WorkLevel,
    pub reasons: Vec<String>,
    /// Set when the level was chosen explicitly: the number of scenarios at that time. The choice
    /// holds until there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_scenarios: Option<usize>,
}

impl Recorded for Assessment {
    const KIND: &'static str = "work-level";
}

/// What a ticket's size is judged by.
#[derive(Clone, Copy, Debug, Default)]
pub struct SizeSignals<'s> {
    pub title: &'s str,
    pub text: &'s str,
    pub scenarios: usize,
    pub children: usize,
}

/// Number of files from which on a ticket that names them is a feature.
pub const FEATURE_FILES: usize = 3;

/// Words in titles that ask for something new.
const NEW_WORDS: &[&str] = &[
    "add",
    "implement",
    "build",
    "create",
    "introduce",
    "добавить",
    "реализовать",
    "создать",
];
/// Words in titles that ask for something small.
const SMALL_WORDS: &[&str] = &["typo", "rename", "bump", "опечатка", "переименовать"];
/// Words that indicate new state or flows, anywhere in the text.
const FLOW_WORDS: &[&str] = &[
    "state",
    "workflow",
    "flow",
    "migration",
    "schema",
    "protocol",
    "состояние",
    "сценарий использования",
    "миграция",
];

/// Assesses a ticket's size from its text; the reasons name what was found.
#[must_use]
pub fn assess_work_level(signals: &SizeSignals<'_>) -> Assessment {
    let mut reasons = Vec::new();
    let lower_title = signals.title.to_lowercase();
    let lower = signals.text.to_lowercase();
    // Whole words only: "Address book" does not ask to add anything.
    let says = |text: &str, words: &[&str]| {
        let found = words.iter().find(|word| {
            text.split(|c: char| !c.is_alphanumeric() && c != ' ')
                .any(|part| {
                    part.split_whitespace().any(|one| one == **word)
                        || (word.contains(' ') && part.contains(**word))
                })
        });
        found.map(|word| (*word).to_owned())
    };
    // Verbs count in the title only; in the body they are too common ("add a comma").
    if let Some(word) = says(&lower_title, NEW_WORDS) {
        reasons.push(format!("the title says \"{word}\""));
    }
    let files = named_files(signals.text);
    if files >= FEATURE_FILES {
        reasons.push(format!("it names {files} files"));
    }
    if signals.scenarios > 1 {
        reasons.push(format!("it has {} scenarios", signals.scenarios));
    }
    if signals.children > 0 {
        reasons.push(format!("it has {} child tickets", signals.children));
    }
    if let Some(word) = says(&lower, FLOW_WORDS) {
        reasons.push(format!("it speaks of new state or flows (\"{word}\")"));
    }
    // Any sign of a feature outweighs a small title: underestimating skips the behaviour phase,
    // while overestimating costs one command to correct.
    if !reasons.is_empty() {
        return Assessment {
            level: WorkLevel::Feature,
            reasons,
            accepted_scenarios: None,
        };
    }
    // Only without any sign of a feature: fixing a typo in three files is not a patch.
    if let Some(word) = says(&lower_title, SMALL_WORDS) {
        let reasons = vec![format!("the title says \"{word}\"")];
        return Assessment {
            level: WorkLevel::Patch,
            reasons,
            accepted_scenarios: None,
        };
    }
    let reasons = vec![match files {
        0 => "nothing indicates that it is larger".to_owned(),
        1 => "it names one file".to_owned(),
        _ => format!("it names {files} files"),
    }];
    Assessment {
        level: WorkLevel::Task,
        reasons,
        accepted_scenarios: None,
    }
}

/// Counts the distinct files a text names: words with a file extension, without URLs.
fn named_files(text: &str) -> usize {
    let mut found: Vec<&str> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "`\"'()[]<>,;".contains(c)) {
        let word = word.trim_end_matches(['.', ':']);
        let name = word.rsplit('/').next().unwrap_or_default();
        // An extension needs a letter, or every version number (`1.2`) would be a file.
        let ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty()
                && (1..=5).contains(&ending.len())
                && ending.chars().all(|c| c.is_ascii_alphanumeric())
                && ending.chars().any(|c| c.is_ascii_alphabetic())
        });
        if ending && !word.contains("://") && !found.contains(&word) {
            found.push(word);
        }
    }
    found.len()
}

/// How work exceeds its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgrown {
    /// It touches more files than work of its level does.
    Files {
        files: usize,
        level: WorkLevel,
    },
    Scenarios(usize),
}

/// Returns how work exceeds its level, if it does.
#[must_use]
pub fn find_outgrown_limit(
    assessment: &Assessment,
    limits: LevelLimits,
    files: usize,
    scenarios: usize,
    children: usize,
) -> Option<Outgrown> {
    let is_above = |count: usize, most: u64| u64::try_from(count).is_ok_and(|count| count > most);
    let has_too_many = is_above(scenarios, limits.scenarios) && children == 0;
    // An explicit level is not questioned for what was known when it was chosen. A ticket with
    // children is split already.
    if let Some(accepted) = assessment.accepted_scenarios {
        return (scenarios > accepted && has_too_many).then_some(Outgrown::Scenarios(scenarios));
    }
    let level = assessment.level;
    if limits
        .max_files(level)
        .is_some_and(|most| is_above(files, most))
    {
        return Some(Outgrown::Files { files, level });
    }
    has_too_many.then_some(Outgrown::Scenarios(scenarios))
}

#[cfg(test)]
mod tests {
    use super::{
        Assessment, LevelLimits, Outgrown, SizeSignals, WorkLevel, assess_work_level,
        find_outgrown_limit,
    };

    #[test]
    fn the_size_follows_from_what_is_said() {
        let cases: &[(&str, &str, usize, WorkLevel)] = &[
            ("Fix the label", "In `src/label.rs`.", 0, WorkLevel::Task),
            ("Typo in the help", "", 0, WorkLevel::Patch),
            ("Add search", "", 0, WorkLevel::Feature),
            ("Address book", "", 0, WorkLevel::Task),
            (
                "Fix the label",
                "`a/b.rs`, `a/c.rs` and `d.ts` at https://example.org/x.html",
                0,
                WorkLevel::Feature,
            ),
            (
                "Fix the label",
                "A new state machine.",
                0,
                WorkLevel::Feature,
            ),
            ("Fix the label", "", 3, WorkLevel::Feature),
            ("Добавить поиск", "", 0, WorkLevel::Feature),
        ];
        for (title, text, scenarios, level) in cases {
            let found = assess_work_level(&SizeSignals {
                title,
                text,
                scenarios: *scenarios,
                children: 0,
            });
            assert_eq!(found.level, *level, "{title}: {:?}", found.reasons);
            assert!(!found.reasons.is_empty());
        }
    }

    #[test]
    fn work_outgrows_its_level() {
        let task = Assessment {
            level: WorkLevel::Task,
            reasons: Vec::new(),
            accepted_scenarios: None,
        };
        let feature = Assessment {
            level: WorkLevel::Feature,
            ..task.clone()
        };
        let accepted = Assessment {
            accepted_scenarios: Some(6),
            ..task.clone()
        };
        let patch = Assessment {
            level: WorkLevel::Patch,
            ..task.clone()
        };
        let outgrown = |assessment: &Assessment, files, scenarios, children| {
            find_outgrown_limit(
                assessment,
                LevelLimits::default(),
                files,
                scenarios,
                children,
            )
        };
        let grown = |files, level| Some(Outgrown::Files { files, level });
        assert_eq!(outgrown(&patch, 2, 0, 0), None);
        assert_eq!(outgrown(&patch, 3, 0, 0), grown(3, WorkLevel::Patch));
        assert_eq!(outgrown(&task, 5, 5, 0), None);
        assert_eq!(outgrown(&task, 6, 5, 0), grown(6, WorkLevel::Task));
        assert_eq!(outgrown(&feature, 9, 6, 0), Some(Outgrown::Scenarios(6)));
        assert_eq!(outgrown(&feature, 9, 6, 2), None);
        assert_eq!(outgrown(&accepted, 9, 6, 0), None);
        assert_eq!(outgrown(&accepted, 9, 7, 0), Some(Outgrown::Scenarios(7)));
    }

    #[test]
    fn the_limits_follow_the_settings_and_stay_below_the_project_s() {
        let limits = LevelLimits {
            patch_files: 1,
            scenarios: 2,
            patch_loc_percent: 25,
            task_loc_percent: 60,
            ..LevelLimits::default()
        };
        let of = |level| Assessment {
            level,
            reasons: Vec::new(),
            accepted_scenarios: None,
        };
        let outgrown = |level, files, scenarios| {
            find_outgrown_limit(&of(level), limits, files, scenarios, 0).is_some()
        };
        assert!(outgrown(WorkLevel::Patch, 2, 0) && !outgrown(WorkLevel::Patch, 1, 0));
        assert!(outgrown(WorkLevel::Feature, 0, 3) && !outgrown(WorkLevel::Feature, 99, 2));
        let lines = WorkLevel::ALL.map(|level| limits.max_uncommitted_lines(level, 401));
        assert_eq!(lines, [101, 241, 401]);
    }
}
