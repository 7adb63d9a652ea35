//! Profiles: one kind of tree, described as data.
//!
//! A profile names its levels, how their aliases and files look, and what an agent is told when it
//! plans one. No code knows the word `act`.

mod parse;
pub mod pattern;
mod place;

use std::ops::RangeInclusive;

use crate::front_matter;
use crate::ids::CanonicalHash;
use crate::node::{Description, WorkKeys};
use crate::secrets::{SecretCount, mask_description};
use crate::section::describe;
use crate::version::canonical_hash;

pub use parse::{ProfileProblem, parse};
pub use pattern::{AliasPattern, FilePattern, NotAnAlias, ReadAlias};
pub use place::{PlanPlace, place_of};

/// One kind of tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    /// For people: `Story`.
    pub title: String,
    pub levels: Vec<Level>,
    /// The steps an agent goes through when it plans a node.
    pub phases: Vec<Phase>,
    /// What a child may name only if its parent does.
    pub facets: Vec<Facet>,
    /// Whether work waits for approval. Where it does not, nothing is held back for the lack of one.
    pub approval: ApprovalNeed,
    /// Gates that are asked, by name; `None` means all that are about plans.
    pub gates: Option<Vec<String>>,
    /// The phases work goes through, in order.
    pub work_phases: Vec<WorkPhase>,
}

/// Whether work waits for approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalNeed {
    #[default]
    Required,
    Optional,
}

/// One phase of the work on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkPhase {
    pub name: String,
    /// The guide in `.throughline/phases/` that is given when the phase begins.
    pub guide: String,
}

/// Whether a node needs proof before it counts as complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvidenceNeed {
    /// What was declared must hold.
    #[default]
    Declared,
    /// Something must be declared, and hold.
    Required,
}

/// One level of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    pub name: String,
    /// Whether nodes of this level may have no parent.
    pub root: bool,
    /// Levels whose nodes may be the parent.
    pub under: Vec<String>,
    pub alias: AliasPattern,
    pub numbers: RangeInclusive<u32>,
    /// The plan file; levels that live in the store alone have none.
    pub file: Option<FilePattern>,
    /// What is made from the plan (prose, an answer), below the folder of the parent's file.
    pub output: Option<FilePattern>,
    /// What the plan of this level is for, in one line.
    pub purpose: String,
    /// Headings a plan of this level should have.
    pub outline: Vec<String>,
    /// Front matter keys that say how far the work is, not what is to be done: they change no version.
    pub state_keys: Vec<String>,
    /// The file beside the parent's whose items are the nodes of this level.
    pub items: Option<String>,
    pub evidence: EvidenceNeed,
}

/// One step of planning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    pub title: String,
    pub text: String,
}

/// Something plans name: characters, locations, the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facet {
    pub name: String,
    pub kind: FacetKind,
    /// Headings, keys and labels under which it stands, in any language. In TOML one text may hold several,
    /// with commas between them.
    pub words: Vec<String>,
    /// Levels whose plans are checked; empty means all.
    pub levels: Vec<String>,
}

/// How a facet is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FacetKind {
    /// Names: each must be known to the parent.
    Names,
    /// Points in time: each must lie within those of the parent.
    Timeline,
}

impl Profile {
    /// Returns a level by its name.
    #[must_use]
    pub fn level(&self, name: &str) -> Option<&Level> {
        self.levels.iter().find(|level| level.name == name)
    }

    /// Returns the levels that may stand below a level.
    pub fn levels_under(&self, name: &str) -> impl Iterator<Item = &Level> {
        self.levels
            .iter()
            .filter(move |level| level.under.iter().any(|above| above == name))
    }

    /// Returns the levels from the top down, for people: `act → chapter → scene`.
    #[must_use]
    pub fn hierarchy(&self) -> String {
        self.levels
            .iter()
            .map(|level| level.name.as_str())
            .collect::<Vec<_>>()
            .join(" → ")
    }
}

impl Profile {
    /// Says whether a gate is asked about nodes of this profile.
    #[must_use]
    pub fn has_gate(&self, gate: &str) -> bool {
        match &self.gates {
            Some(gates) => gates.iter().any(|name| name == gate),
            None => !crate::gates::is_about_work(gate),
        }
    }

    /// The same with the files of the built-in tickets in another folder.
    #[must_use]
    pub fn with_tickets_in(mut self, folder: &str) -> Self {
        if self.name == "tickets" && folder != "tickets" {
            for level in self.levels.iter_mut().filter(|level| level.lies_flat()) {
                level.file = level.file.take().map(|file| file.below(folder));
            }
        }
        self
    }

    /// Returns a phase by its name.
    #[must_use]
    pub fn work_phase(&self, name: &str) -> Option<&WorkPhase> {
        self.work_phases.iter().find(|phase| phase.name == name)
    }
}

impl Level {
    /// Reads what a text of this level is (formatting and the state of the work aside) and what it says of itself.
    #[must_use]
    pub fn read_text(&self, text: &str) -> (CanonicalHash, Description) {
        let mut description = describe(text);
        if self.state_keys.is_empty() {
            return (canonical_hash(text), description);
        }
        let front = front_matter::read(text);
        description.work = Some(Box::new(WorkKeys {
            phase: front_matter::written(text, "phase"),
            status: front_matter::written(text, "status"),
            parent: front_matter::written(text, "parent"),
            work_level: front_matter::written(text, "work_level")
                .or_else(|| front_matter::written(text, "workLevel")),
            problem: front.problem.map(|problem| problem.to_string()),
        }));
        mask_description(&mut description, &mut SecretCount::default());
        (
            canonical_hash(&front_matter::without(text, &self.state_keys)),
            description,
        )
    }

    /// Says whether nodes of this level lie side by side and name their parent in the front matter.
    #[must_use]
    pub fn lies_flat(&self) -> bool {
        self.root && self.under.contains(&self.name) && self.file.is_some()
    }

    /// Reads an alias of this level or its short form.
    ///
    /// # Errors
    /// When it is none, with what was expected.
    pub fn read_alias(&self, text: &str) -> Result<ReadAlias, NotAnAlias> {
        self.alias.read(&self.name, text, &self.numbers)
    }
}

/// The built-in profiles, name and text.
pub const BUILT_IN: [(&str, &str); 4] = [
    ("story", include_str!("story.toml")),
    ("tickets", include_str!("tickets.toml")),
    ("trail", include_str!("trail.toml")),
    ("milestones", include_str!("milestones.toml")),
];

/// Returns a built-in profile.
#[must_use]
pub fn built_in(name: &str) -> Option<Profile> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(parse(name, text).expect("BUG: built-in profiles are parsed by a test"))
}

/// Returns the folder of a plan file: where its children's patterns start.
#[must_use]
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
