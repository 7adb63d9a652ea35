//! Profiles: one kind of tree, described as data.
//!
//! A profile names its levels, the patterns of their aliases and files, and the planning phases an
//! agent goes through. No code knows the word `act`.

mod misplaced;
mod parse;
pub mod pattern;
mod plan_place;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::front_matter;
use crate::ids::CanonicalHash;
use crate::node::{Description, WorkKeys};
use crate::secrets::{SecretCount, mask_description};
use crate::section::describe_plan;
use crate::version::canonical_hash;
use crate::work::phase_order::parse_phase;
use crate::work::work_level::WorkLevel;

pub use misplaced::{FittingName, find_expected_path, fit_name_to_folder, is_misspelt_plan_folder};
pub use parse::parse_profile;
pub use pattern::{AliasNames, AliasPattern, FilePattern, NotAnAlias, ReadAlias};
pub use plan_place::{PlanPlace, locate_items, locate_output, locate_plan};

/// One kind of tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub name: String,
    /// Display name: `Story`.
    pub title: String,
    pub levels: Vec<Level>,
    /// Planning phases of a node, in order.
    pub phases: Vec<Phase>,
    /// Facets: things a child may mention only if its parent does.
    pub facets: Vec<Facet>,
    /// Whether work on a node requires an approved plan.
    pub approval: ApprovalNeed,
    /// Names of the enabled gates; `None` means all gates about plans.
    pub gates: Option<Vec<String>>,
    /// Phases of the work, in order.
    pub work_phases: Vec<WorkPhase>,
}

/// Whether work requires approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApprovalNeed {
    #[default]
    Required,
    Optional,
}

/// One phase of the work on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkPhase {
    pub name: String,
    /// Guide in `.throughline/phases/` that the agent receives when the phase begins.
    pub guide: String,
    /// The smallest work level that goes through it.
    pub from_level: WorkLevel,
    /// Whether it is left only with approved scenarios, where the policy asks for that.
    pub needs_approval: bool,
}

/// Whether a node requires evidence before it counts as complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EvidenceNeed {
    /// Declared evidence must be fresh; none is required.
    #[default]
    Declared,
    /// At least one piece of evidence is required, and all must be fresh.
    Required,
}

/// What completes a node, besides a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RollUp {
    /// Nothing.
    #[default]
    None,
    /// The completion of its parent: it is a part of the parent's work, not work of its own.
    WithParent,
    /// The completion of its last open child.
    WithChildren,
}

/// One level of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    pub name: String,
    /// Whether nodes of this level may have no parent.
    pub root: bool,
    /// Levels of possible parents.
    pub under: Vec<String>,
    pub alias: AliasPattern,
    pub numbers: RangeInclusive<u32>,
    /// Words before a number that mean a node of this level, in any language: `chapter`, `глава`.
    pub labels: Vec<String>,
    /// Whether a project may do without this level: it is offered once it is used.
    pub optional: bool,
    /// Pattern of the plan file; `None` for levels that exist only in the store.
    pub file: Option<FilePattern>,
    /// Other patterns under which plan files are read; new ones get `file`.
    pub other_files: Vec<FilePattern>,
    /// Pattern of the file produced from the plan (prose, an answer), relative to the folder of the
    /// parent's file.
    pub output: Option<FilePattern>,
    /// Purpose of a plan of this level, in one line.
    pub purpose: String,
    /// Headings a plan of this level should have.
    pub outline: Vec<String>,
    /// Front matter keys about progress, not content: changing one creates no new version.
    pub state_keys: Vec<String>,
    /// File beside the parent's plan whose items are the nodes of this level.
    pub items: Option<String>,
    pub evidence: EvidenceNeed,
    pub roll_up: RollUp,
}

/// One phase of planning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub title: String,
    pub text: String,
}

/// A kind of thing that plans mention: characters, locations, the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facet {
    pub name: String,
    pub kind: FacetKind,
    /// Headings, keys and labels that introduce it, in any language. In TOML one string may hold
    /// several, separated by commas.
    pub words: Vec<String>,
    /// Levels whose plans are checked; empty means all.
    pub levels: Vec<String>,
}

/// How a facet is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FacetKind {
    /// Names: each must occur in the parent.
    Names,
    /// Points in time: each must lie within those of the parent.
    Timeline,
}

impl Profile {
    /// Returns the level with this name.
    #[must_use]
    pub fn find_level(&self, name: &str) -> Option<&Level> {
        self.levels.iter().find(|level| level.name == name)
    }

    /// Iterates over the levels whose nodes may be children of a level.
    pub fn levels_under(&self, name: &str) -> impl Iterator<Item = &Level> {
        self.levels
            .iter()
            .filter(move |level| level.under.iter().any(|above| above == name))
    }

    /// Renders the levels from the top down: `act → chapter → scene`.
    #[must_use]
    pub fn render_hierarchy(&self) -> String {
        self.levels
            .iter()
            .filter(|level| !level.optional)
            .map(|level| level.name.as_str())
            .collect::<Vec<_>>()
            .join(" → ")
    }
}

impl Profile {
    /// Whether a gate is enabled for nodes of this profile.
    #[must_use]
    pub fn has_gate(&self, name: &str) -> bool {
        use crate::gates::GateScope;
        let Some(gate) = crate::gates::find_gate_by_name(name) else {
            return false;
        };
        let is_listed = |gates: &Vec<String>| gates.iter().any(|one| one == name);
        match (gate.scope, &self.gates) {
            (GateScope::Project, _) => true,
            (GateScope::Trail, _) => self.name == crate::trail::PROFILE,
            (GateScope::Plans | GateScope::Work, Some(gates)) => is_listed(gates),
            (GateScope::Plans, None) => true,
            // Gates about work need work phases and evidence, which a profile has to ask for.
            (GateScope::Work, None) => false,
        }
    }

    /// Returns the profile with the files of the built-in tickets in another folder.
    #[must_use]
    pub fn with_tickets_folder(mut self, folder: &str) -> Self {
        // Only the built-in profile: the folder is a setting because existing repositories keep
        // tickets
        // in folders of their own. A profile of the project states its folder itself.
        if self.name == "tickets" && folder != "tickets" {
            for level in self.levels.iter_mut().filter(|level| level.is_flat()) {
                level.file = level.file.take().map(|file| file.in_folder(folder));
            }
        }
        self
    }

    /// Reads a text of one of its levels: its canonical hash and its description, in which the phase has
    /// the name that this profile gives it, however the file spells it.
    #[must_use]
    pub fn read_text(&self, level: &Level, text: &str) -> (CanonicalHash, Description) {
        let (canonical, mut description) = level.read_text(text);
        if let Some(work) = &mut description.work
            && let Some(word) = &mut work.phase
            && let Some(phase) = parse_phase(&self.work_phases, word)
        {
            word.clone_from(&phase.name);
        }
        (canonical, description)
    }

    /// Returns the work phase with this name.
    #[must_use]
    pub fn find_work_phase(&self, name: &str) -> Option<&WorkPhase> {
        self.work_phases.iter().find(|phase| phase.name == name)
    }
}

impl Level {
    /// Reads a text of this level: its canonical hash and its description.
    ///
    /// The hash ignores formatting and the state keys, so that recording progress in the front
    /// matter does not invalidate an approval.
    #[must_use]
    pub fn read_text(&self, text: &str) -> (CanonicalHash, Description) {
        let mut description = describe_plan(text);
        if self.state_keys.is_empty() {
            return (canonical_hash(text), description);
        }
        let front = front_matter::parse_front_matter(text);
        description.work = Some(Box::new(WorkKeys {
            phase: front.get_word(text, "phase"),
            status: front.get_word(text, "status"),
            parent: front.get_word(text, "parent"),
            work_level: front
                .get_word(text, "work_level")
                .or_else(|| front.get_word(text, "workLevel")),
            priority: front.get_word(text, "priority"),
            due: front.get_word(text, "due"),
            labels: front.get_list("labels"),
            links: front.get_list("links"),
            problem: front.problem.map(|problem| problem.to_string()),
        }));
        // Keys are stored as written. `describe_plan` masked what it found, but not these.
        mask_description(&mut description, &mut SecretCount::default());
        (canonical_hash(&self.remove_state_keys(text)), description)
    }

    /// Returns the text without the state keys: the part that the canonical hash covers.
    #[must_use]
    pub fn remove_state_keys<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.state_keys.as_slice() {
            [] => Cow::Borrowed(text),
            keys => Cow::Owned(front_matter::remove_keys(text, keys)),
        }
    }

    /// Whether nodes of this level share one folder and name their parent in the front matter.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        // A level that may be its own parent has no path to tell the depth by.
        self.root && self.under.contains(&self.name) && self.file.is_some()
    }

    /// Iterates over the patterns of its plan files, that of new ones first.
    pub fn file_patterns(&self) -> impl Iterator<Item = &FilePattern> {
        self.file.iter().chain(&self.other_files)
    }

    /// Returns the number in an alias; `None` if it is a name.
    #[must_use]
    pub fn number_of(&self, alias: &str) -> Option<u32> {
        let read = self.alias.parse_exact_alias(alias, &self.numbers)?;
        read.number.filter(|_| self.alias.is_numbered())
    }

    /// Parses an alias of this level or its short form.
    ///
    /// # Errors
    /// The text is not an alias of this level; the error says what was expected.
    pub fn read_alias(&self, text: &str) -> Result<ReadAlias, NotAnAlias> {
        self.alias.parse_alias(&self.name, text, &self.numbers)
    }
}

/// Built-in profiles: name and TOML text.
pub const BUILT_IN_PROFILES: [(&str, &str); 4] = [
    ("story", include_str!("story.toml")),
    ("tickets", include_str!("tickets.toml")),
    ("trail", include_str!("trail.toml")),
    ("milestones", include_str!("milestones.toml")),
];

/// The same profiles as JSON, in the same order, written by `cargo xtask generate`.
///
/// Every hook reads a profile: parsing the TOML of `story` takes 0.9 million instructions, more than
/// half of a hook that touches no plan, and this an eighth of them.
const COMPILED_PROFILES: [&str; 4] = [
    include_str!("compiled/story.json"),
    include_str!("compiled/tickets.json"),
    include_str!("compiled/trail.json"),
    include_str!("compiled/milestones.json"),
];

/// Returns the built-in profile with this name.
#[must_use]
pub fn built_in_profile(name: &str) -> Option<Profile> {
    let index = BUILT_IN_PROFILES
        .iter()
        .position(|(known, _)| *known == name)?;
    let compiled = COMPILED_PROFILES.get(index)?;
    Some(serde_json::from_str(compiled).expect("BUG: compiled profiles are compared by a test"))
}

/// Returns the folder of a plan file, to which its children's patterns are relative.
#[must_use]
pub fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
