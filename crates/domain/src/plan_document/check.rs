//! Validation of a plan: reports every problem at once, each with its JSON pointer.
//!
//! Checks what the schema cannot express: references, ids, waves, completeness. The shape of the
//! file is checked when it is read.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::documentation::{is_placeholder, list_texts};
use super::entity::EntityKind;
use super::model::{CodeChange, Milestone, Plan, SCHEMA_VERSION};
use super::waves::compute_waves;

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemGrade {
    /// The plan is inconsistent: commands refuse to work on it until that is fixed.
    Broken,
    /// Something is missing: the plan cannot be frozen yet.
    Unfinished,
    /// Worth a look; blocks nothing.
    Hint,
}

/// A problem and its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanProblem {
    /// A JSON pointer into `plan.json`.
    pub pointer: String,
    pub message: String,
    pub grade: ProblemGrade,
    /// Line in the file, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl PlanProblem {
    /// Creates a problem of grade `broken`.
    #[must_use]
    pub fn broken(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            message: message.into(),
            grade: ProblemGrade::Broken,
            line: None,
        }
    }

    /// Formats the problem as one line for people.
    #[must_use]
    pub fn render_line(&self) -> String {
        // The pointer of the whole document is the empty string, which would read as a missing one.
        let place = if self.pointer.is_empty() {
            "/"
        } else {
            &self.pointer
        };
        match self.line {
            Some(line) => format!("{place} (line {line}): {}", self.message),
            None => format!("{place}: {}", self.message),
        }
    }
}

/// Returns all problems of a plan, the most severe first, then in document order.
#[must_use]
pub fn check_plan(plan: &Plan) -> Vec<PlanProblem> {
    let mut checker = PlanChecker {
        plan,
        problems: Vec::new(),
    };
    checker.check_overview();
    checker.check_ids();
    checker.check_decisions();
    checker.check_milestones();
    checker.check_waves();
    let mut problems = checker.problems;
    // A stable sort: within a grade the order of the checks is the order of the file.
    problems.sort_by_key(|problem| problem.grade);
    problems
}

struct PlanChecker<'p> {
    plan: &'p Plan,
    problems: Vec<PlanProblem>,
}

impl<'p> PlanChecker<'p> {
    fn push_problem(&mut self, grade: ProblemGrade, pointer: String, message: String) {
        self.problems.push(PlanProblem {
            pointer,
            message,
            grade,
            line: None,
        });
    }

    fn push_broken(&mut self, pointer: String, message: String) {
        self.push_problem(ProblemGrade::Broken, pointer, message);
    }

    // Pointers are closures throughout, formatted only for a problem: a plan with 2,000 intents has
    // thousands of places to check, and nearly all of them are fine.
    fn require_text(&mut self, pointer: impl FnOnce() -> String, text: &str) {
        let problem = match text.trim() {
            "" => "is still empty",
            text if is_placeholder(text) => "is a placeholder",
            _ => return,
        };
        self.push_problem(ProblemGrade::Unfinished, pointer(), problem.to_owned());
    }

    fn check_overview(&mut self) {
        let overview = &self.plan.overview;
        if self.plan.schema_version != SCHEMA_VERSION {
            let found = self.plan.schema_version;
            self.push_broken(
                "/schema_version".to_owned(),
                format!("is {found}, expected {SCHEMA_VERSION}"),
            );
        }
        self.require_text(|| "/overview/title".to_owned(), &overview.title);
        self.require_text(|| "/overview/problem".to_owned(), &overview.problem);
        self.require_text(|| "/overview/approach".to_owned(), &overview.approach);
        if self.plan.milestones.is_empty() {
            self.push_problem(
                ProblemGrade::Unfinished,
                "/milestones".to_owned(),
                "there is no milestone yet".to_owned(),
            );
        }
    }

    /// Checks that ids have the form of their kind and are unique.
    fn check_ids(&mut self) {
        let plan = self.plan;
        let context = &plan.planning_context;
        // One set over all kinds: commands address an entity by its id alone.
        let mut seen: HashSet<&'p str> = HashSet::new();
        for (at, one) in context.decision_log.iter().enumerate() {
            self.check_id(
                &mut seen,
                EntityKind::Decision,
                || format!("/planning_context/decision_log/{at}/id"),
                &one.id,
            );
        }
        for (at, one) in context.rejected_alternatives.iter().enumerate() {
            self.check_id(
                &mut seen,
                EntityKind::Alternative,
                || format!("/planning_context/rejected_alternatives/{at}/id"),
                &one.id,
            );
        }
        for (at, one) in context.constraints.iter().enumerate() {
            self.check_id(
                &mut seen,
                EntityKind::Constraint,
                || format!("/planning_context/constraints/{at}/id"),
                &one.id,
            );
        }
        for (at, one) in context.known_risks.iter().enumerate() {
            self.check_id(
                &mut seen,
                EntityKind::Risk,
                || format!("/planning_context/known_risks/{at}/id"),
                &one.id,
            );
        }
        for (at, milestone) in plan.milestones.iter().enumerate() {
            self.check_id(
                &mut seen,
                EntityKind::Milestone,
                || format!("/milestones/{at}/id"),
                &milestone.id,
            );
            for (index, one) in milestone.code_intents.iter().enumerate() {
                self.check_id(
                    &mut seen,
                    EntityKind::Intent,
                    || format!("/milestones/{at}/code_intents/{index}/id"),
                    &one.id,
                );
            }
            for (index, one) in milestone.code_changes.iter().enumerate() {
                self.check_id(
                    &mut seen,
                    EntityKind::Change,
                    || format!("/milestones/{at}/code_changes/{index}/id"),
                    &one.id,
                );
            }
        }
    }

    fn check_id(
        &mut self,
        seen: &mut HashSet<&'p str>,
        kind: EntityKind,
        pointer: impl FnOnce() -> String,
        id: &'p str,
    ) {
        if EntityKind::parse_id(id).is_none_or(|(found, _)| found != kind) {
            let expected = kind.format_id(1);
            self.push_broken(
                pointer(),
                format!(
                    "`{id}` is not a valid id of a {}: expected one like `{expected}`",
                    kind.display_name()
                ),
            );
        } else if !seen.insert(id) {
            self.push_broken(pointer(), format!("duplicate id `{id}`"));
        }
    }

    fn check_decision_ref(
        &mut self,
        known: &HashSet<&str>,
        pointer: impl FnOnce() -> String,
        id: &str,
    ) {
        if !known.contains(id) {
            self.push_broken(pointer(), format!("there is no decision `{id}`"));
        }
    }

    fn check_decisions(&mut self) {
        let context = &self.plan.planning_context;
        let decisions: HashSet<&str> = context
            .decision_log
            .iter()
            .map(|one| one.id.as_str())
            .collect();
        for (at, one) in context.decision_log.iter().enumerate() {
            self.require_text(
                || format!("/planning_context/decision_log/{at}/decision"),
                &one.decision,
            );
            self.require_text(
                || format!("/planning_context/decision_log/{at}/reasoning_chain"),
                &one.reasoning_chain,
            );
        }
        for (at, one) in context.rejected_alternatives.iter().enumerate() {
            let pointer = || format!("/planning_context/rejected_alternatives/{at}/decision_ref");
            self.check_decision_ref(&decisions, pointer, &one.decision_ref);
        }
        for (at, one) in context.known_risks.iter().enumerate() {
            if let Some(id) = &one.decision_ref {
                self.check_decision_ref(
                    &decisions,
                    || format!("/planning_context/known_risks/{at}/decision_ref"),
                    id,
                );
            }
        }
        for (at, milestone) in self.plan.milestones.iter().enumerate() {
            for (index, intent) in milestone.code_intents.iter().enumerate() {
                for (place, id) in intent.decision_refs.iter().enumerate() {
                    let pointer =
                        || format!("/milestones/{at}/code_intents/{index}/decision_refs/{place}");
                    self.check_decision_ref(&decisions, pointer, id);
                }
            }
        }
    }

    fn check_milestones(&mut self) {
        let plan = self.plan;
        // Owning milestone by intent. Over all milestones, to tell a reference into another
        // milestone
        // from one to an intent that does not exist.
        let owner: HashMap<&str, &str> = plan
            .iter_intents()
            .map(|(milestone, intent)| (intent.id.as_str(), milestone.id.as_str()))
            .collect();
        let mut numbers: HashSet<u32> = HashSet::new();
        for (at, milestone) in plan.milestones.iter().enumerate() {
            if !numbers.insert(milestone.number) {
                self.push_broken(
                    format!("/milestones/{at}/number"),
                    format!("duplicate number {}", milestone.number),
                );
            }
            self.require_text(|| format!("/milestones/{at}/name"), &milestone.name);
            for (index, file) in milestone.files.iter().enumerate() {
                self.check_path(|| format!("/milestones/{at}/files/{index}"), file);
            }
            for (index, file) in milestone.tests.files.iter().enumerate() {
                self.check_path(|| format!("/milestones/{at}/tests/files/{index}"), file);
            }
            for (index, intent) in milestone.code_intents.iter().enumerate() {
                self.check_path(
                    || format!("/milestones/{at}/code_intents/{index}/file"),
                    &intent.file,
                );
                self.require_text(
                    || format!("/milestones/{at}/code_intents/{index}/behavior"),
                    &intent.behavior,
                );
            }
            let mut carried_out: HashSet<&str> = HashSet::new();
            for (index, change) in milestone.code_changes.iter().enumerate() {
                carried_out.insert(&change.intent_ref);
                self.check_code_change((at, index), milestone, change, &owner);
            }
            self.check_completeness(at, milestone, &carried_out);
        }
    }

    fn check_code_change(
        &mut self,
        (at, index): (usize, usize),
        milestone: &Milestone,
        change: &CodeChange,
        owner: &HashMap<&str, &str>,
    ) {
        let pointer = |field: &str| format!("/milestones/{at}/code_changes/{index}/{field}");
        self.check_path(|| pointer("file"), &change.file);
        match owner.get(change.intent_ref.as_str()) {
            None => {
                let message = format!(
                    "there is no code intent `{}` for this change",
                    change.intent_ref
                );
                self.push_broken(pointer("intent_ref"), message);
            }
            Some(other) if *other != milestone.id => {
                let message = format!(
                    "`{}` is an intent of `{other}`, not of this milestone",
                    change.intent_ref
                );
                self.push_broken(pointer("intent_ref"), message);
            }
            Some(_) => {
                let intent = milestone
                    .code_intents
                    .iter()
                    .find(|intent| intent.id == change.intent_ref);
                // Only a hint: implementing an intent may need an edit in a neighbouring file.
                // The tests of the milestone belong to its intents, whichever file these are about.
                let is_test = milestone.tests.files.contains(&change.file);
                if let Some(intent) = intent.filter(|intent| intent.file != change.file && !is_test)
                {
                    let message = format!(
                        "changes `{}`, but `{}` is about `{}`",
                        change.file, intent.id, intent.file
                    );
                    self.push_problem(ProblemGrade::Hint, pointer("file"), message);
                }
            }
        }
    }

    /// Checks that a milestone can be implemented from the plan alone.
    fn check_completeness(
        &mut self,
        at: usize,
        milestone: &Milestone,
        carried_out: &HashSet<&str>,
    ) {
        let mut unfinished = |part: &str, message: &str| {
            self.push_problem(
                ProblemGrade::Unfinished,
                format!("/milestones/{at}/{part}"),
                message.to_owned(),
            )
        };
        if milestone.acceptance_criteria.is_empty() {
            unfinished("acceptance_criteria", "no acceptance criteria");
        }
        for (place, _, text) in list_texts(&milestone.documentation) {
            if is_placeholder(text) {
                unfinished("documentation", &format!("the {place} is a placeholder"));
            }
        }
        // Documentation has criteria to meet, but no code to intend or test.
        if milestone.is_documentation_only {
            return;
        }
        if milestone.code_intents.is_empty() {
            unfinished(
                "code_intents",
                "no intent yet, and it is not `is_documentation_only`",
            );
        }
        if milestone.tests.files.is_empty() && milestone.tests.skip_reason.is_none() {
            unfinished("tests", "neither test files nor a `skip_reason`");
        }
        for (index, intent) in milestone.code_intents.iter().enumerate() {
            // Diffs may be written later, by a developer who starts from the intents; a plan
            // without
            // them can be frozen.
            if !carried_out.contains(intent.id.as_str()) {
                let pointer = format!("/milestones/{at}/code_intents/{index}");
                self.push_problem(
                    ProblemGrade::Hint,
                    pointer,
                    format!("`{}` has no code change yet", intent.id),
                );
            }
        }
    }

    fn check_path(&mut self, pointer: impl FnOnce() -> String, path: &str) {
        // Both separators and drive letters, on every platform: the plan is shared, and a path that
        // is
        // harmless here may leave the project on a colleague's machine.
        let parts = path.split(['/', '\\']);
        let leaves = path.starts_with('/')
            || path.contains(':')
            || parts.into_iter().any(|part| part == "..");
        if path.trim().is_empty() || leaves {
            self.push_broken(
                pointer(),
                format!(
                    "`{path}` is not inside the project: expected a relative path without `..`"
                ),
            );
        }
    }

    /// Checks that dependencies exist and have no cycle, and that given waves respect them.
    fn check_waves(&mut self) {
        let plan = self.plan;
        let known: HashSet<&str> = plan
            .milestones
            .iter()
            .map(|milestone| milestone.id.as_str())
            .collect();
        let early = self.check_dependencies(&known);
        // Without waves in the file the computed ones are used, which cannot contradict the
        // dependencies.
        if plan.milestone_dependencies.waves.is_empty() {
            self.hint_shared_files(&early);
            return;
        }
        let place = self.check_given_waves(&known);
        self.check_wave_order(&place);
        self.hint_shared_files(&place);
    }

    /// Checks the dependencies, and returns the earliest wave of each milestone.
    fn check_dependencies(&mut self, known: &HashSet<&str>) -> HashMap<String, u32> {
        let plan = self.plan;
        for (at, milestone) in plan.milestones.iter().enumerate() {
            for (index, id) in milestone.depends_on.iter().enumerate() {
                if !known.contains(id.as_str()) {
                    let pointer = format!("/milestones/{at}/depends_on/{index}");
                    self.push_broken(pointer, format!("there is no milestone `{id}`"));
                }
            }
        }
        let mut early: HashMap<String, u32> = HashMap::new();
        match compute_waves(plan) {
            Err(circle) => {
                // Reported once, at the first milestone of the cycle; the message lists the others.
                let first = circle.milestones.first();
                let at = plan
                    .milestones
                    .iter()
                    .position(|one| Some(&one.id) == first)
                    .unwrap_or_default();
                self.push_broken(format!("/milestones/{at}/depends_on"), circle.to_string());
            }
            Ok(waves) => {
                for wave in waves {
                    early.extend(wave.milestones.into_iter().map(|id| (id, wave.wave)));
                }
            }
        }
        early
    }

    /// Checks the waves in the file, and returns the wave of each milestone.
    fn check_given_waves(&mut self, known: &HashSet<&str>) -> HashMap<String, u32> {
        let given = &self.plan.milestone_dependencies.waves;
        let mut place: HashMap<String, u32> = HashMap::new();
        for (at, wave) in given.iter().enumerate() {
            // The position counts, whatever number is written: one misnumbered wave would otherwise
            // bring a follow-up error for each milestone in it.
            let expected = u32::try_from(at + 1).unwrap_or(u32::MAX);
            if wave.wave != expected {
                let pointer = format!("/milestone_dependencies/waves/{at}/wave");
                self.push_broken(
                    pointer,
                    format!(
                        "is {}, expected {expected}: waves are numbered in order",
                        wave.wave
                    ),
                );
            }
            for (index, id) in wave.milestones.iter().enumerate() {
                let pointer = format!("/milestone_dependencies/waves/{at}/milestones/{index}");
                if !known.contains(id.as_str()) {
                    self.push_broken(pointer, format!("there is no milestone `{id}`"));
                } else if place.insert(id.clone(), expected).is_some() {
                    self.push_broken(pointer, format!("`{id}` is in two waves"));
                }
            }
        }
        place
    }

    /// Checks that every milestone is in a wave after those it needs.
    fn check_wave_order(&mut self, place: &HashMap<String, u32>) {
        let plan = self.plan;
        for milestone in &plan.milestones {
            let Some(own) = place.get(&milestone.id) else {
                let message = format!("`{}` is in no wave", milestone.id);
                self.push_problem(
                    ProblemGrade::Unfinished,
                    "/milestone_dependencies/waves".to_owned(),
                    message,
                );
                continue;
            };
            for needed in milestone
                .depends_on
                .iter()
                .filter(|needed| place.get(*needed).is_some_and(|wave| wave >= own))
            {
                // `own` was taken from the position above, so this is the index again.
                let at = own - 1;
                let message = format!(
                    "`{}` is in wave {own}, but needs `{needed}`, which is in wave {}",
                    milestone.id, place[needed]
                );
                self.push_broken(format!("/milestone_dependencies/waves/{at}"), message);
            }
        }
    }

    /// Hints at files that two milestones of one wave touch, since they will conflict in parallel
    /// work.
    fn hint_shared_files(&mut self, place: &HashMap<String, u32>) {
        let mut first: HashMap<(u32, &str), &str> = HashMap::new();
        for (at, milestone) in self.plan.milestones.iter().enumerate() {
            let Some(wave) = place.get(&milestone.id) else {
                continue;
            };
            for (index, file) in milestone.files.iter().enumerate() {
                let other = *first.entry((*wave, file)).or_insert(&milestone.id);
                if other != milestone.id {
                    let message =
                        format!("`{file}` is also touched by `{other}`, in the same wave {wave}");
                    self.push_problem(
                        ProblemGrade::Hint,
                        format!("/milestones/{at}/files/{index}"),
                        message,
                    );
                }
            }
        }
    }
}
