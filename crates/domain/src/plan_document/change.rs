//! Editing commands of a plan document, applied all together or not at all.
//!
//! Optimistic concurrency: every entity has a version, and a command that changes or removes one
//! names the version its caller read. A lock would not do: the caller is often a language model
//! that reads now and writes minutes later.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::check::{PlanProblem, ProblemGrade, check_plan};
use super::entity::{
    Entity, EntityKind, IdCounters, NAMED_PARTS, entity_ids, entity_value, with_entity_type,
};
use super::model::{
    CodeChange, CodeIntent, Constraint, Decision, DocComment, Milestone, Plan, RejectedAlternative,
    Risk, TestPlan,
};
use crate::suggest::{nearest_words, with_suggestion};
use crate::time::Timestamp;

/// One editing command, as given on the command line, in a batch line or by an MCP tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlanChange {
    AddDecision {
        decision: String,
        reasoning: String,
    },
    AddAlternative {
        alternative: String,
        reason: String,
        decision_ref: String,
    },
    AddConstraint {
        #[serde(rename = "type")]
        kind: String,
        description: String,
        #[serde(default)]
        source: String,
    },
    AddRisk {
        risk: String,
        mitigation: String,
        #[serde(default)]
        anchor: Option<String>,
        #[serde(default)]
        decision_ref: Option<String>,
    },
    AddMilestone {
        name: String,
        #[serde(default)]
        files: Vec<String>,
        #[serde(default)]
        flags: Vec<String>,
        #[serde(default)]
        requirements: Vec<String>,
        #[serde(default)]
        acceptance_criteria: Vec<String>,
        #[serde(default)]
        depends_on: Vec<String>,
        #[serde(default)]
        tests: TestPlan,
        #[serde(default)]
        is_documentation_only: bool,
        #[serde(default)]
        delegated_to: Option<String>,
    },
    AddIntent {
        milestone: String,
        file: String,
        #[serde(default)]
        function: Option<String>,
        behavior: String,
        #[serde(default)]
        decision_refs: Vec<String>,
        #[serde(default)]
        params: BTreeMap<String, Value>,
    },
    AddChange {
        intent_ref: String,
        /// Defaults to the intent's file.
        #[serde(default)]
        file: Option<String>,
        diff: String,
        #[serde(default)]
        context_lines: String,
        #[serde(default)]
        why_comments: Vec<String>,
    },
    AddDoc {
        milestone: String,
        place: DocPlace,
        #[serde(default)]
        target: String,
        text: String,
    },
    Set {
        id: String,
        version: Option<u64>,
        fields: Map<String, Value>,
    },
    Remove {
        id: String,
        version: Option<u64>,
    },
}

/// Kind of documentation a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DocPlace {
    Module,
    Docstring,
    Algorithm,
    Inline,
}

impl DocPlace {
    /// Every kind with its name.
    pub const ALL: [(&str, Self); 4] = [
        ("module", Self::Module),
        ("docstring", Self::Docstring),
        ("algorithm", Self::Algorithm),
        ("inline", Self::Inline),
    ];
}

impl PlanChange {
    /// Returns the command's name, as workflow roles list it among their allowed commands.
    #[must_use]
    pub fn command_name(&self) -> &'static str {
        match self {
            Self::AddDecision { .. } => "add-decision",
            Self::AddAlternative { .. } => "add-alternative",
            Self::AddConstraint { .. } => "add-constraint",
            Self::AddRisk { .. } => "add-risk",
            Self::AddMilestone { .. } => "add-milestone",
            Self::AddIntent { .. } => "add-intent",
            Self::AddChange { .. } => "add-change",
            Self::AddDoc { .. } => "add-doc",
            Self::Set { .. } => "set",
            Self::Remove { .. } => "remove",
        }
    }

    /// Returns the kind of the entity the command adds, if it adds one.
    pub(super) fn added_kind(&self) -> Option<EntityKind> {
        match self {
            Self::AddDecision { .. } => Some(EntityKind::Decision),
            Self::AddAlternative { .. } => Some(EntityKind::Alternative),
            Self::AddConstraint { .. } => Some(EntityKind::Constraint),
            Self::AddRisk { .. } => Some(EntityKind::Risk),
            Self::AddMilestone { .. } => Some(EntityKind::Milestone),
            Self::AddIntent { .. } => Some(EntityKind::Intent),
            Self::AddChange { .. } => Some(EntityKind::Change),
            Self::AddDoc { .. } | Self::Set { .. } | Self::Remove { .. } => None,
        }
    }
}

/// Result of one command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AppliedChange {
    /// The entity that was added or changed.
    pub id: String,
    /// Its new value; `None` when it was removed.
    pub entity: Option<Value>,
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeRefused {
    #[error("there is no {what} `{id}`{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        what: &'static str,
        id: String,
        near: Option<String>,
    },
    #[error("`{id}` is at version {is}, not {given}: it changed since you read it")]
    AnotherVersion {
        id: String,
        given: u64,
        is: u64,
        current: Value,
    },
    #[error("missing version of `{id}`: name the one you read; it is now at version {is}")]
    NoVersion { id: String, is: u64, current: Value },
    #[error("`{id}` cannot be removed: it is referenced by {}", by.join(", "))]
    Referred { id: String, by: Vec<String> },
    #[error("cannot set `{field}` of `{id}`: {why}")]
    Field {
        id: String,
        field: String,
        why: String,
    },
    #[error("`{field}` is empty")]
    Empty { field: &'static str },
    #[error("the plan would be inconsistent: {}", problems.iter().map(PlanProblem::render_line).collect::<Vec<_>>().join("; "))]
    Broken { problems: Vec<PlanProblem> },
}

/// Applies commands to a consistent plan, all of them or none.
///
/// # Errors
/// The index and reason of the first command that is refused. `plan` and `numbers` are then half
/// edited: the caller drops them.
pub fn apply_changes(
    plan: &mut Plan,
    numbers: &mut IdCounters,
    changes: &[PlanChange],
    now: Timestamp,
) -> Result<Vec<AppliedChange>, (usize, ChangeRefused)> {
    let mut applied = Vec::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        // Rebuilt for each command, because `entity_value` below needs the plan while the editor
        // would still hold it mutably.
        let mut editor = PlanEditor { plan, numbers, now };
        let id = editor
            .apply_change(change)
            .map_err(|refused| (at, refused))?;
        applied.push(AppliedChange {
            entity: entity_value(plan, &id),
            id,
        });
    }
    // Checked once, after the last command: a batch may pass through an inconsistent plan, such as
    // an intent that names a decision added two lines later. Checking per command would also make a
    // batch quadratic.
    let problems: Vec<PlanProblem> = check_plan(plan)
        .into_iter()
        .filter(|problem| problem.grade == ProblemGrade::Broken)
        .collect();
    if problems.is_empty() {
        Ok(applied)
    } else {
        Err((
            // An inconsistency belongs to the batch as a whole; it is reported at its last line.
            changes.len().saturating_sub(1),
            ChangeRefused::Broken { problems },
        ))
    }
}

struct PlanEditor<'p> {
    plan: &'p mut Plan,
    numbers: &'p mut IdCounters,
    now: Timestamp,
}

/// Fields of commands that have another name in the document.
const RENAMED_FIELDS: [(&str, &str); 2] = [
    ("reasoning", "reasoning_chain"),
    ("reason", "rejection_reason"),
];

fn require_text(field: &'static str, text: &str) -> Result<(), ChangeRefused> {
    match text.trim().is_empty() {
        true => Err(ChangeRefused::Empty { field }),
        false => Ok(()),
    }
}

/// Parses an entity from JSON. The reader that accepts `plan.json` decides about a field, so a
/// command cannot write a document that the next command cannot read.
fn read_entity<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| with_suggestion(&error.to_string()))
}

impl PlanEditor<'_> {
    fn unknown_entity(&self, what: &'static str, id: &str) -> ChangeRefused {
        // `NAMED_PARTS` too, because `overview` and its like are given where an id is expected.
        let near = nearest_words(id, entity_ids(self.plan).chain(NAMED_PARTS), 1)
            .first()
            .map(|near| (*near).to_owned());
        ChangeRefused::Unknown {
            what,
            id: id.to_owned(),
            near,
        }
    }

    fn milestone_index(&self, id: &str) -> Result<usize, ChangeRefused> {
        self.plan
            .milestones
            .iter()
            .position(|milestone| milestone.id == id)
            .ok_or_else(|| self.unknown_entity("milestone", id))
    }

    fn apply_change(&mut self, change: &PlanChange) -> Result<String, ChangeRefused> {
        match change {
            PlanChange::AddDecision { .. } => {
                let more = json!({ "timestamp": self.now });
                self.add_entity::<Decision>(0, change, &["decision", "reasoning"], more)
            }
            PlanChange::AddAlternative { .. } => {
                let texts = ["alternative", "reason"];
                self.add_entity::<RejectedAlternative>(0, change, &texts, json!({}))
            }
            PlanChange::AddConstraint { .. } => {
                self.add_entity::<Constraint>(0, change, &["description", "type"], json!({}))
            }
            PlanChange::AddRisk { .. } => {
                self.add_entity::<Risk>(0, change, &["risk", "mitigation"], json!({}))
            }
            PlanChange::AddMilestone { .. } => {
                // Milestone numbers are for people and follow the plan, so unlike ids they may be
                // used again after the last milestone was removed.
                let numbers = self
                    .plan
                    .milestones
                    .iter()
                    .map(|milestone| milestone.number);
                let more = json!({ "number": numbers.max().unwrap_or(0) + 1 });
                self.add_entity::<Milestone>(0, change, &["name"], more)
            }
            PlanChange::AddIntent { milestone, .. } => {
                let at = self.milestone_index(milestone)?;
                self.add_entity::<CodeIntent>(at, change, &["behavior"], json!({}))
            }
            PlanChange::AddChange {
                intent_ref,
                file,
                diff,
                ..
            } => {
                // Not among the trimmed texts: leading blanks and the final line end of a diff are
                // significant.
                require_text("diff", diff)?;
                let found = self
                    .plan
                    .iter_intents()
                    .find(|(_, intent)| intent.id == *intent_ref);
                // The milestone follows from the intent. A separate argument could contradict it.
                let Some((milestone, intent)) = found else {
                    return Err(self.unknown_entity("code intent", intent_ref));
                };
                let more = json!({ "file": file.as_ref().unwrap_or(&intent.file) });
                let at = self.milestone_index(&milestone.id)?;
                self.add_entity::<CodeChange>(at, change, &[], more)
            }
            PlanChange::AddDoc {
                milestone,
                place,
                target,
                text,
            } => self.add_documentation(milestone, *place, target, text),
            PlanChange::Set {
                id,
                version,
                fields,
            } => self.set_fields(id, *version, fields),
            PlanChange::Remove { id, version } => self.remove_entity(id, *version),
        }
    }

    /// Adds the entity that a command describes to list `at` of its type, and returns its id.
    ///
    /// `texts` may not be empty and are trimmed; `more` are fields the command does not have.
    fn add_entity<E: Entity>(
        &mut self,
        at: usize,
        change: &PlanChange,
        texts: &[&'static str],
        more: Value,
    ) -> Result<String, ChangeRefused> {
        // An id that is drawn before a field turns out wrong is lost with the whole batch: the
        // caller drops the counters together with the plan.
        let id = self.numbers.next_id(E::KIND);
        let mut fields = json!(change);
        for name in texts {
            let text = fields[name].as_str().unwrap_or_default();
            require_text(name, text)?;
            fields[name] = Value::from(text.trim());
        }
        let members = fields.as_object_mut().expect("BUG: a command is an object");
        // The command's name and the place, which are not part of the entity.
        members.retain(|name, _| name != "do" && name != "milestone");
        for (from, to) in RENAMED_FIELDS {
            if let Some(value) = members.remove(from) {
                members.insert(to.to_owned(), value);
            }
        }
        if let Value::Object(more) = more {
            members.extend(more);
        }
        // No version: everything that is added starts at the one the schema gives by default.
        members.insert("id".to_owned(), Value::from(id.as_str()));
        let entity = read_entity::<E>(fields).map_err(|why| ChangeRefused::Field {
            id: id.clone(),
            field: E::KIND.display_name().to_owned(),
            why,
        })?;
        E::lists_mut(self.plan)[at].push(entity);
        Ok(id)
    }

    fn add_documentation(
        &mut self,
        milestone: &str,
        place: DocPlace,
        target: &str,
        text: &str,
    ) -> Result<String, ChangeRefused> {
        require_text("text", text)?;
        // A module comment belongs to the milestone's files as a whole.
        if place != DocPlace::Module {
            require_text("target", target)?;
        }
        let at = self.milestone_index(milestone)?;
        let found = &mut self.plan.milestones[at];
        let comment = DocComment {
            target: target.to_owned(),
            text: text.trim().to_owned(),
        };
        let documentation = &mut found.documentation;
        match place {
            DocPlace::Module => documentation.module_comment = Some(comment.text),
            DocPlace::Docstring => documentation.docstrings.push(comment),
            DocPlace::Algorithm => documentation.algorithm_blocks.push(comment),
            DocPlace::Inline => documentation.inline_comments.push(comment),
        }
        // Documentation has no ids of its own; the milestone's version covers it.
        found.version += 1;
        Ok(milestone.to_owned())
    }

    /// Compares the version the caller read with the current one; returns the current value.
    fn check_version(&self, id: &str, version: Option<u64>) -> Result<Value, ChangeRefused> {
        let current =
            entity_value(self.plan, id).ok_or_else(|| self.unknown_entity("entity", id))?;
        // The refusals carry the current value, so that an agent can redo its edit without another
        // read.
        let is = current["version"].as_u64().unwrap_or(1);
        let id = id.to_owned();
        match version {
            None => Err(ChangeRefused::NoVersion { id, is, current }),
            Some(given) if given != is => Err(ChangeRefused::AnotherVersion {
                id,
                given,
                is,
                current,
            }),
            Some(_) => Ok(current),
        }
    }

    fn set_fields(
        &mut self,
        id: &str,
        version: Option<u64>,
        fields: &Map<String, Value>,
    ) -> Result<String, ChangeRefused> {
        let mut value = self.check_version(id, version)?;
        let refused = |field: &str, why: String| ChangeRefused::Field {
            id: id.to_owned(),
            field: field.to_owned(),
            why,
        };
        for (field, wanted) in fields {
            match field.as_str() {
                "id" | "version" => {
                    return Err(refused(field, "it is assigned by Throughline".to_owned()));
                }
                "code_intents" | "code_changes" => {
                    return Err(refused(
                        field,
                        "each has an id of its own; add, set or remove that".to_owned(),
                    ));
                }
                _ => set_field(&mut value, field, wanted),
            }
        }
        value["version"] = Value::from(value["version"].as_u64().unwrap_or(1) + 1);
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        self.replace_entity(id, value)
            .map_err(|why| refused(&names.join(", "), why))?;
        Ok(id.to_owned())
    }

    fn replace_entity(&mut self, id: &str, value: Value) -> Result<(), String> {
        fn replace_value<T: DeserializeOwned>(
            place: Option<&mut T>,
            value: Value,
        ) -> Result<(), String> {
            *place.ok_or("it no longer exists")? = read_entity(value)?;
            Ok(())
        }
        let plan = &mut *self.plan;
        match id {
            "overview" => return replace_value(Some(&mut plan.overview), value),
            "invisible_knowledge" => {
                return replace_value(Some(&mut plan.invisible_knowledge), value);
            }
            "milestone_dependencies" => {
                return replace_value(Some(&mut plan.milestone_dependencies), value);
            }
            _ => {}
        }
        let (kind, _) = EntityKind::parse_id(id).ok_or("its id is of no known kind")?;
        if let (EntityKind::Milestone, Some(place)) = (kind, Milestone::find_mut(plan, id)) {
            // `entity_value` leaves both lists out, so the value has none; taken over here, or
            // setting a milestone's name would delete its intents.
            let changed: Milestone = read_entity(value)?;
            *place = Milestone {
                code_intents: std::mem::take(&mut place.code_intents),
                code_changes: std::mem::take(&mut place.code_changes),
                ..changed
            };
            return Ok(());
        }
        with_entity_type!(kind, E => replace_value(E::find_mut(plan, id), value))
    }

    fn remove_entity(&mut self, id: &str, version: Option<u64>) -> Result<String, ChangeRefused> {
        self.check_version(id, version)?;
        // The schema requires these parts, so a plan without one could not be read again.
        if NAMED_PARTS.contains(&id) {
            let why = "it is a part every plan has; set its fields instead".to_owned();
            return Err(ChangeRefused::Field {
                id: id.to_owned(),
                field: id.to_owned(),
                why,
            });
        }
        // Refused instead of cascading: what leans on a decision has to be rethought, not deleted
        // with it.
        let by = self.list_references(id);
        if !by.is_empty() {
            return Err(ChangeRefused::Referred {
                id: id.to_owned(),
                by,
            });
        }
        if let Some((kind, _)) = EntityKind::parse_id(id) {
            with_entity_type!(kind, E => {
                for list in E::lists_mut(self.plan) {
                    list.retain(|one| one.id() != id);
                }
            });
        }
        Ok(id.to_owned())
    }

    /// Lists everything that would refer to a missing id if this one were removed.
    fn list_references(&self, id: &str) -> Vec<String> {
        let plan = &*self.plan;
        let context = &plan.planning_context;
        let mut by: Vec<String> = Vec::new();
        by.extend(
            context
                .rejected_alternatives
                .iter()
                .filter(|one| one.decision_ref == id)
                .map(|one| one.id.clone()),
        );
        let risks = context
            .known_risks
            .iter()
            .filter(|one| one.decision_ref.as_deref() == Some(id));
        by.extend(risks.map(|one| one.id.clone()));
        for milestone in &plan.milestones {
            // What a milestone contains counts as a reference: it must be empty before it goes.
            let mine = milestone.id == id;
            if mine || milestone.depends_on.iter().any(|needed| needed == id) {
                by.extend((!mine).then(|| milestone.id.clone()));
            }
            let intents = milestone
                .code_intents
                .iter()
                .filter(|one| mine || one.decision_refs.iter().any(|it| it == id));
            by.extend(intents.map(|one| one.id.clone()));
            let changes = milestone
                .code_changes
                .iter()
                .filter(|one| mine || one.intent_ref == id);
            by.extend(changes.map(|one| one.id.clone()));
        }
        let waves = plan.milestone_dependencies.waves.iter();
        by.extend(
            waves
                .filter(|wave| wave.milestones.iter().any(|one| one == id))
                .map(|wave| format!("wave {}", wave.wave)),
        );
        by
    }
}

/// Sets a field, possibly a nested one such as `tests.skip_reason`.
///
/// A string given for a list, number or flag is parsed as JSON, because `tl doc set key=value` has
/// only strings.
fn set_field(entity: &mut Value, path: &str, wanted: &Value) {
    let (place, field) = match path.split_once('.') {
        // Descends only into objects that are there: a name that really contains a dot, as `params`
        // may have, is a field of its own.
        Some((outer, inner)) if entity.get(outer).is_some_and(Value::is_object) => {
            return set_field(&mut entity[outer], inner, wanted);
        }
        _ => (entity, path),
    };
    // A missing or null field counts as text: a skipped optional one is a string in every type of
    // the schema. The typed read in `replace_entity` reports a wrong guess.
    let is_text = place
        .get(field)
        .is_none_or(|now| now.is_string() || now.is_null());
    let read = wanted
        .as_str()
        .filter(|_| !is_text)
        .and_then(|text| serde_json::from_str(text).ok());
    place[field] = read.unwrap_or_else(|| wanted.clone());
}
