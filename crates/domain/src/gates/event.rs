//! Everything the gates look at, gathered by the caller.

use super::adopt::Unadopted;
use crate::approval::UndecidedPlan;
use crate::host_event::FileEffect;
use crate::ids::VersionHash;
use crate::node::Node;
use crate::profile::{PlanPlace, Profile};
use crate::work::work_level::{Outgrown, WorkLevel};

/// A step that is about to happen: a tool call, or the completion of a node.
#[derive(Clone, Debug, Default)]
pub struct Event<'e> {
    pub profiles: &'e [Profile],
    /// The plans it changes.
    pub plans: &'e [PlanStep<'e>],
    /// The outputs of plans (prose, an answer) it writes.
    pub outputs: &'e [OutputStep<'e>],
    /// Other files of the project it changes.
    pub files: &'e [String],
    /// Those of them that belong to frozen plan documents.
    pub documents: &'e [FrozenFile<'e>],
    /// Session files it overwrites.
    pub session_files: &'e [SessionFile],
    /// The work that an edit of project files belongs to; `None` if no such file is changed.
    pub work: Option<WorkStep<'e>>,
    pub command: CommandFacts,
    /// What of this clone its user has not adopted.
    pub unadopted: Option<Unadopted>,
    /// Whether a person typed a command that is carried out on the state.
    pub is_typed_command: bool,
    /// Whether the session has declared no intent.
    pub lacks_intent: bool,
    /// A node that would be completed although something about it is open.
    pub unproved: Option<UnprovedNode<'e>>,
    /// A ticket that would be moved to another phase.
    pub phase_move: Option<PhaseMove<'e>>,
    /// Whether the host passes text on to the model before a step: then nothing is blocked only to
    /// hand over a text.
    pub delivers_context: bool,
    /// The overrides of a person.
    pub overrides: &'e [Override],
}

/// A person's permission to pass one gate once: the gate, and what the step is about.
pub type Override = (&'static str, String);

/// What an objection is about.
#[derive(Clone, Debug)]
pub struct Subject<'e> {
    /// Path of a node, a file, or `command`.
    pub name: String,
    /// The profile of the node; `None` for what belongs to no single profile.
    pub profile: Option<&'e Profile>,
}

impl Subject<'_> {
    /// Returns a subject that belongs to no single profile.
    pub(super) fn of_project(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            profile: None,
        }
    }
}

/// A shell command, as far as it concerns gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandFacts {
    /// Whether it may write files, other than through `tl`.
    pub may_write: bool,
    /// Whether it runs `tl hook`, which only hosts do.
    pub runs_own_hook: bool,
}

/// A file of a frozen plan document that is about to be changed.
#[derive(Clone, Copy, Debug)]
pub struct FrozenFile<'e> {
    pub document: &'e str,
    /// `plan.json`, `plan.md` or `context.json`.
    pub name: &'e str,
}

/// A session file that is about to be overwritten.
#[derive(Clone, Debug)]
pub struct SessionFile {
    pub file: String,
    /// The trail node of that session, by which a person names it.
    pub node: String,
    /// Whether this session has read its current content.
    pub is_read: bool,
}

/// A node that would be completed although something about it is open.
#[derive(Clone, Copy, Debug)]
pub struct UnprovedNode<'e> {
    pub path: &'e str,
    pub profile: Option<&'e Profile>,
    pub why: &'e str,
    /// The commands that close what is open.
    pub steps: &'e [String],
}

/// A move of a ticket to another phase.
#[derive(Clone, Copy, Debug)]
pub struct PhaseMove<'e> {
    pub path: &'e str,
    pub profile: Option<&'e Profile>,
    pub to: &'e str,
    /// The ticket's work level.
    pub level: &'e str,
    /// The phases of that level that the move leaves out.
    pub skipped: &'e [&'e str],
    /// The phase it leaves that asks for approved scenarios.
    pub left_approval: Option<&'e str>,
    /// Paths of the ticket and its scenarios, as far as they are not approved.
    pub unapproved: &'e [String],
}

/// A change of project files that are not plans, about to be made by a session.
#[derive(Clone, Debug, Default)]
pub struct WorkStep<'e> {
    /// Alias of the node the session works on; empty if there is none.
    pub node: &'e str,
    /// Its path.
    pub path: &'e str,
    /// Uncommitted changed lines; `None` if they cannot be counted (no repository, or a merge is in
    /// progress).
    pub uncommitted: Option<u64>,
    /// The work level of the ticket; `None` without one.
    pub level: Option<WorkLevel>,
    /// A phase that began without a commit since.
    pub new_phase: Option<NewPhase<'e>>,
    /// Context of the node that the session has not been given yet.
    pub context: Option<&'e str>,
    /// How the work exceeds its level, if it does.
    pub outgrown: Option<&'e Outgrown>,
    /// Another session that has claimed the node.
    pub claimed_by: Option<&'e str>,
}

/// A work phase that began.
#[derive(Clone, Copy, Debug)]
pub struct NewPhase<'e> {
    pub from: Option<&'e str>,
    pub to: &'e str,
    /// Progress and the phase's guide.
    pub guide: &'e str,
    /// Whether a commit is required: not without a repository, nor with nothing to commit.
    pub needs_commit: bool,
}

/// A change of one plan that is about to happen, with all that the gates look at.
#[derive(Clone, Debug)]
pub struct PlanStep<'e> {
    pub doing: IntendedChange<'e>,
    pub place: &'e PlanPlace<'e>,
    /// The plan file, relative to the project.
    pub file: &'e str,
    /// The recorded node, if there is one.
    pub node: Option<&'e Node>,
    pub parent: ParentPlan<'e>,
    /// The uppermost plan above it that is not approved: it has to be decided before those below it.
    pub undecided: Option<&'e UndecidedPlan>,
    /// Current size of the file in bytes, if it exists.
    pub size: Option<u64>,
    /// The version of this plan that the session last read or wrote.
    pub read: Option<VersionHash>,
    /// Whether a hook reported the session's start.
    pub session_is_known: bool,
    /// Another session that has claimed the node.
    pub claimed_by: Option<&'e str>,
}

/// An output that is about to be written from its plan.
#[derive(Clone, Copy, Debug)]
pub struct OutputStep<'e> {
    pub place: &'e PlanPlace<'e>,
    /// The output file, relative to the project.
    pub file: &'e str,
    /// The node of the plan, if it is recorded.
    pub node: Option<&'e Node>,
    /// The uppermost plan above that one that is not approved.
    pub undecided: Option<&'e UndecidedPlan>,
}

/// What is about to be done to the plan.
#[derive(Clone, Copy, Debug)]
pub enum IntendedChange<'e> {
    /// A person asked for the node to be planned.
    Planning,
    /// A tool changes the file.
    Changing(&'e FileEffect),
}

/// The node above the plan.
#[derive(Clone, Copy, Debug)]
pub enum ParentPlan<'e> {
    /// The node is a root.
    None,
    /// The level requires a parent, but none is recorded.
    Missing,
    Known(&'e Node),
}

impl<'e> ParentPlan<'e> {
    /// Returns the parent of a plan: a nested path without a recorded parent is an orphan, a path of
    /// one alias is a root.
    #[must_use]
    pub fn from_recorded(parent: Option<&'e Node>, place: &PlanPlace<'_>) -> Self {
        match parent {
            Some(parent) => Self::Known(parent),
            None if place.aliases.len() > 1 => Self::Missing,
            None => Self::None,
        }
    }
}

/// The objections of one gate.
pub(super) type Objections<'e> = Vec<(Subject<'e>, super::Objection)>;

impl<'e> Event<'e> {
    /// Collects the objections of a rule about single plans.
    pub(super) fn check_plans(
        &self,
        rule: impl Fn(&PlanStep<'e>) -> Option<super::Objection>,
    ) -> Objections<'e> {
        let check = |step: &PlanStep<'e>| {
            let subject = Subject {
                name: step.place.path_alias(),
                profile: Some(step.place.profile),
            };
            Some((subject, rule(step)?))
        };
        self.plans.iter().filter_map(check).collect()
    }

    /// Collects the objections of a rule about single outputs.
    pub(super) fn check_outputs(
        &self,
        rule: impl Fn(&OutputStep<'e>) -> Option<super::Objection>,
    ) -> Objections<'e> {
        let check = |step: &OutputStep<'e>| {
            let subject = Subject {
                name: step.place.path_alias(),
                profile: Some(step.place.profile),
            };
            Some((subject, rule(step)?))
        };
        self.outputs.iter().filter_map(check).collect()
    }

    /// Collects the objection of a rule about the work.
    pub(super) fn check_work(
        &self,
        rule: impl Fn(&WorkStep<'e>) -> Option<super::Objection>,
    ) -> Objections<'e> {
        let check = |step: &WorkStep<'e>| Some((Subject::of_project(step.path), rule(step)?));
        self.work.iter().filter_map(check).collect()
    }
}
