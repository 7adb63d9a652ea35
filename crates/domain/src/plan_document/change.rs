//! Changes of a plan: each is one command, applied to a plan or refused with the reason; nothing is half done.
//!
//! Every entity has a version. Whoever changes or removes one says which version they saw.

use std::collections::{BTreeMap, HashMap};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::check::{Grade, Problem, check};
use super::entity::{EntityKind, Numbers, PARTS, entity_value, ids};
use super::model::{
    CodeChange, CodeIntent, Constraint, Decision, DocComment, Documentation, Milestone, Plan,
    RejectedAlternative, Risk, TestPlan,
};
use crate::suggest::{nearest, with_suggestion};
use crate::time::Timestamp;

/// One change, as a command, a line of a batch or a tool call says it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Change {
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
        /// Without it, the intent's.
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

/// Where documentation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocPlace {
    Module,
    Docstring,
    Algorithm,
    Inline,
}

impl DocPlace {
    /// Every place.
    pub const ALL: [(&str, Self); 4] = [
        ("module", Self::Module),
        ("docstring", Self::Docstring),
        ("algorithm", Self::Algorithm),
        ("inline", Self::Inline),
    ];
}

impl Change {
    /// Returns the command it is, as roles are allowed it.
    #[must_use]
    pub fn word(&self) -> &'static str {
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
}

/// What a change came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Applied {
    /// The entity that was added or changed.
    pub id: String,
    /// As it is now; nothing when it was removed.
    pub entity: Option<Value>,
}

/// Why a change was not made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeRefused {
    #[error("there is no {what} `{id}`{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        what: &'static str,
        id: String,
        near: Option<String>,
    },
    #[error("`{id}` is at version {is}, not {given}: it changed since you saw it")]
    AnotherVersion {
        id: String,
        given: u64,
        is: u64,
        current: Value,
    },
    #[error("which version of `{id}` did you see? it is at version {is}")]
    NoVersion { id: String, is: u64, current: Value },
    #[error("`{id}` cannot be removed: it is referred to by {}", by.join(", "))]
    Referred { id: String, by: Vec<String> },
    #[error("`{field}` of `{id}` is not set this way: {why}")]
    Field {
        id: String,
        field: String,
        why: String,
    },
    #[error("`{field}` is empty")]
    Empty { field: &'static str },
    #[error("the plan would contradict itself: {}", problems.iter().map(Problem::in_words).collect::<Vec<_>>().join("; "))]
    Broken { problems: Vec<Problem> },
}

/// Applies changes to a plan that is whole, all of them or none.
///
/// # Errors
/// The position and reason of the first one that is refused; `plan` and `numbers` are then to be thrown away.
pub fn apply(
    plan: &mut Plan,
    numbers: &mut Numbers,
    changes: &[Change],
    now: Timestamp,
) -> Result<Vec<Applied>, (usize, ChangeRefused)> {
    let mut applied = Vec::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        let mut editor = Editor { plan, numbers, now };
        let id = editor.change(change).map_err(|refused| (at, refused))?;
        applied.push(Applied {
            entity: entity_value(plan, &id),
            id,
        });
    }
    // Once for all of them: lines of a batch may lean on one another.
    let problems: Vec<Problem> = check(plan)
        .into_iter()
        .filter(|problem| problem.grade == Grade::Broken)
        .collect();
    if problems.is_empty() {
        Ok(applied)
    } else {
        Err((
            changes.len().saturating_sub(1),
            ChangeRefused::Broken { problems },
        ))
    }
}

struct Editor<'p> {
    plan: &'p mut Plan,
    numbers: &'p mut Numbers,
    now: Timestamp,
}

fn filled(field: &'static str, text: &str) -> Result<String, ChangeRefused> {
    if text.trim().is_empty() {
        Err(ChangeRefused::Empty { field })
    } else {
        Ok(text.trim().to_owned())
    }
}

impl Editor<'_> {
    fn unknown(&self, what: &'static str, id: &str) -> ChangeRefused {
        let near = nearest(id, ids(self.plan).chain(PARTS), 1)
            .first()
            .map(|near| (*near).to_owned());
        ChangeRefused::Unknown {
            what,
            id: id.to_owned(),
            near,
        }
    }

    fn milestone(&mut self, id: &str) -> Result<&mut Milestone, ChangeRefused> {
        match self
            .plan
            .milestones
            .iter()
            .position(|milestone| milestone.id == id)
        {
            Some(at) => Ok(&mut self.plan.milestones[at]),
            None => Err(self.unknown("milestone", id)),
        }
    }

    fn change(&mut self, change: &Change) -> Result<String, ChangeRefused> {
        let version = 1;
        match change.clone() {
            Change::AddDecision {
                decision,
                reasoning,
            } => {
                let id = self.numbers.give(EntityKind::Decision);
                self.plan.planning_context.decision_log.push(Decision {
                    id: id.clone(),
                    version,
                    decision: filled("decision", &decision)?,
                    reasoning_chain: filled("reasoning", &reasoning)?,
                    timestamp: self.now,
                });
                Ok(id)
            }
            Change::AddAlternative {
                alternative,
                reason,
                decision_ref,
            } => {
                let id = self.numbers.give(EntityKind::Alternative);
                self.plan
                    .planning_context
                    .rejected_alternatives
                    .push(RejectedAlternative {
                        id: id.clone(),
                        version,
                        alternative: filled("alternative", &alternative)?,
                        rejection_reason: filled("reason", &reason)?,
                        decision_ref,
                    });
                Ok(id)
            }
            Change::AddConstraint {
                kind,
                description,
                source,
            } => {
                let id = self.numbers.give(EntityKind::Constraint);
                let description = filled("description", &description)?;
                let constraint = Constraint {
                    id: id.clone(),
                    version,
                    kind: filled("type", &kind)?,
                    description,
                    source,
                };
                self.plan.planning_context.constraints.push(constraint);
                Ok(id)
            }
            Change::AddRisk {
                risk,
                mitigation,
                anchor,
                decision_ref,
            } => {
                let id = self.numbers.give(EntityKind::Risk);
                self.plan.planning_context.known_risks.push(Risk {
                    id: id.clone(),
                    version,
                    risk: filled("risk", &risk)?,
                    mitigation: filled("mitigation", &mitigation)?,
                    anchor,
                    decision_ref,
                });
                Ok(id)
            }
            Change::AddMilestone {
                name,
                files,
                flags,
                requirements,
                acceptance_criteria,
                depends_on,
                tests,
                is_documentation_only,
                delegated_to,
            } => {
                let id = self.numbers.give(EntityKind::Milestone);
                let number = self
                    .plan
                    .milestones
                    .iter()
                    .map(|milestone| milestone.number)
                    .max()
                    .unwrap_or(0)
                    + 1;
                self.plan.milestones.push(Milestone {
                    id: id.clone(),
                    version,
                    number,
                    name: filled("name", &name)?,
                    files,
                    flags,
                    requirements,
                    acceptance_criteria,
                    depends_on,
                    tests,
                    code_intents: Vec::new(),
                    code_changes: Vec::new(),
                    documentation: Documentation::default(),
                    is_documentation_only,
                    delegated_to,
                });
                Ok(id)
            }
            Change::AddIntent {
                milestone,
                file,
                function,
                behavior,
                decision_refs,
                params,
            } => {
                let behavior = filled("behavior", &behavior)?;
                self.milestone(&milestone)?;
                let id = self.numbers.give(EntityKind::Intent);
                let intent = CodeIntent {
                    id: id.clone(),
                    version,
                    file,
                    function,
                    behavior,
                    decision_refs,
                    params,
                };
                self.milestone(&milestone)?.code_intents.push(intent);
                Ok(id)
            }
            Change::AddChange {
                intent_ref,
                file,
                diff,
                context_lines,
                why_comments,
            } => {
                filled("diff", &diff)?;
                let found = self
                    .plan
                    .intents()
                    .find(|(_, intent)| intent.id == intent_ref);
                let Some((milestone, file)) = found.map(|(milestone, intent)| {
                    (
                        milestone.id.clone(),
                        file.unwrap_or_else(|| intent.file.clone()),
                    )
                }) else {
                    return Err(self.unknown("code intent", &intent_ref));
                };
                let id = self.numbers.give(EntityKind::Change);
                let change = CodeChange {
                    id: id.clone(),
                    version,
                    intent_ref,
                    file,
                    diff,
                    context_lines,
                    why_comments,
                };
                self.milestone(&milestone)?.code_changes.push(change);
                Ok(id)
            }
            Change::AddDoc {
                milestone,
                place,
                target,
                text,
            } => {
                let text = filled("text", &text)?;
                if place != DocPlace::Module {
                    filled("target", &target)?;
                }
                let found = self.milestone(&milestone)?;
                let comment = DocComment { target, text };
                let documentation = &mut found.documentation;
                match place {
                    DocPlace::Module => documentation.module_comment = Some(comment.text),
                    DocPlace::Docstring => documentation.docstrings.push(comment),
                    DocPlace::Algorithm => documentation.algorithm_blocks.push(comment),
                    DocPlace::Inline => documentation.inline_comments.push(comment),
                }
                found.version += 1;
                Ok(milestone)
            }
            Change::Set {
                id,
                version,
                fields,
            } => self.set(&id, version, &fields).map(|()| id),
            Change::Remove { id, version } => self.remove(&id, version).map(|()| id),
        }
    }

    /// Compares the version somebody saw with the one that is there.
    fn seen(&self, id: &str, version: Option<u64>) -> Result<Value, ChangeRefused> {
        let current = entity_value(self.plan, id).ok_or_else(|| self.unknown("entity", id))?;
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

    fn set(
        &mut self,
        id: &str,
        version: Option<u64>,
        fields: &Map<String, Value>,
    ) -> Result<(), ChangeRefused> {
        let mut value = self.seen(id, version)?;
        let refused = |field: &str, why: String| ChangeRefused::Field {
            id: id.to_owned(),
            field: field.to_owned(),
            why,
        };
        for (field, wanted) in fields {
            match field.as_str() {
                "id" | "version" => {
                    return Err(refused(field, "it is given by Throughline".to_owned()));
                }
                "code_intents" | "code_changes" => {
                    return Err(refused(
                        field,
                        "each has an id of its own; add, set or remove that".to_owned(),
                    ));
                }
                _ => put_field(&mut value, field, wanted),
            }
        }
        value["version"] = Value::from(value["version"].as_u64().unwrap_or(1) + 1);
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        self.put(id, value)
            .map_err(|why| refused(&names.join(", "), why))
    }

    fn put(&mut self, id: &str, value: Value) -> Result<(), String> {
        fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
            serde_json::from_value(value).map_err(|error| with_suggestion(&error.to_string()))
        }
        fn replace<T: DeserializeOwned>(place: Option<&mut T>, value: Value) -> Result<(), String> {
            let place = place.ok_or("it is gone")?;
            *place = read(value)?;
            Ok(())
        }
        let plan = &mut *self.plan;
        let context = &mut plan.planning_context;
        match id {
            "overview" => return replace(Some(&mut plan.overview), value),
            "invisible_knowledge" => return replace(Some(&mut plan.invisible_knowledge), value),
            "milestone_dependencies" => {
                return replace(Some(&mut plan.milestone_dependencies), value);
            }
            _ => {}
        }
        let (kind, _) = EntityKind::of_id(id).ok_or("it has no id of a known kind")?;
        match kind {
            EntityKind::Decision => replace(
                context.decision_log.iter_mut().find(|one| one.id == id),
                value,
            ),
            EntityKind::Alternative => replace(
                context
                    .rejected_alternatives
                    .iter_mut()
                    .find(|one| one.id == id),
                value,
            ),
            EntityKind::Constraint => replace(
                context.constraints.iter_mut().find(|one| one.id == id),
                value,
            ),
            EntityKind::Risk => replace(
                context.known_risks.iter_mut().find(|one| one.id == id),
                value,
            ),
            EntityKind::Milestone => {
                let place = plan
                    .milestones
                    .iter_mut()
                    .find(|one| one.id == id)
                    .ok_or("it is gone")?;
                let mut changed: Milestone = read(value)?;
                changed.code_intents = std::mem::take(&mut place.code_intents);
                changed.code_changes = std::mem::take(&mut place.code_changes);
                *place = changed;
                Ok(())
            }
            EntityKind::Intent => {
                let mut intents = plan
                    .milestones
                    .iter_mut()
                    .flat_map(|milestone| &mut milestone.code_intents);
                replace(intents.find(|one| one.id == id), value)
            }
            EntityKind::Change => {
                let mut changes = plan
                    .milestones
                    .iter_mut()
                    .flat_map(|milestone| &mut milestone.code_changes);
                replace(changes.find(|one| one.id == id), value)
            }
        }
    }

    fn remove(&mut self, id: &str, version: Option<u64>) -> Result<(), ChangeRefused> {
        self.seen(id, version)?;
        if PARTS.contains(&id) {
            let why = "it is a part every plan has; set its fields instead".to_owned();
            return Err(ChangeRefused::Field {
                id: id.to_owned(),
                field: id.to_owned(),
                why,
            });
        }
        let by = self.referring(id);
        if !by.is_empty() {
            return Err(ChangeRefused::Referred {
                id: id.to_owned(),
                by,
            });
        }
        let context = &mut self.plan.planning_context;
        context.decision_log.retain(|one| one.id != id);
        context.rejected_alternatives.retain(|one| one.id != id);
        context.constraints.retain(|one| one.id != id);
        context.known_risks.retain(|one| one.id != id);
        self.plan.milestones.retain(|one| one.id != id);
        for milestone in &mut self.plan.milestones {
            milestone.code_intents.retain(|one| one.id != id);
            milestone.code_changes.retain(|one| one.id != id);
        }
        Ok(())
    }

    /// Returns what would point into the void.
    fn referring(&self, id: &str) -> Vec<String> {
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

/// Sets a field, also one inside another: `tests.skip_reason`. A text that is given for a list or a flag is read as JSON.
fn put_field(entity: &mut Value, path: &str, wanted: &Value) {
    let (place, field) = match path.split_once('.') {
        Some((outer, inner)) if entity.get(outer).is_some_and(Value::is_object) => {
            return put_field(&mut entity[outer], inner, wanted);
        }
        _ => (entity, path),
    };
    let is_text = place
        .get(field)
        .is_none_or(|now| now.is_string() || now.is_null());
    let read = wanted
        .as_str()
        .filter(|_| !is_text)
        .and_then(|text| serde_json::from_str(text).ok());
    place[field] = read.unwrap_or_else(|| wanted.clone());
}

/// Reads a batch: one change a line, as JSON. A line may name what it adds (`"as": "x"`), and later lines say `"@x"`
/// wherever they mean its id.
///
/// # Errors
/// Every line that cannot be read, with its number.
pub fn in_batch(text: &str, numbers: &Numbers) -> Result<Vec<Change>, Vec<Problem>> {
    let mut numbers = numbers.clone();
    let mut names: HashMap<String, String> = HashMap::new();
    let (mut changes, mut problems) = (Vec::new(), Vec::new());
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        match in_line(line, &mut numbers, &mut names) {
            Ok(change) => changes.push(change),
            Err(message) => problems.push(Problem {
                line: Some(at + 1),
                ..Problem::broken("", message)
            }),
        }
    }
    if problems.is_empty() {
        Ok(changes)
    } else {
        Err(problems)
    }
}

fn in_line(
    line: &str,
    numbers: &mut Numbers,
    names: &mut HashMap<String, String>,
) -> Result<Change, String> {
    let mut value: Value =
        serde_json::from_str(line).map_err(|error| format!("this is no JSON: {error}"))?;
    let name = value
        .as_object_mut()
        .and_then(|members| members.remove("as"));
    let mut unknown = None;
    named(&mut value, names, &mut unknown);
    if let Some(unknown) = unknown {
        return Err(format!("`@{unknown}` is the name of no earlier line"));
    }
    let change: Change =
        serde_json::from_value(value).map_err(|error| with_suggestion(&error.to_string()))?;
    let kind = match &change {
        Change::AddDecision { .. } => Some(EntityKind::Decision),
        Change::AddAlternative { .. } => Some(EntityKind::Alternative),
        Change::AddConstraint { .. } => Some(EntityKind::Constraint),
        Change::AddRisk { .. } => Some(EntityKind::Risk),
        Change::AddMilestone { .. } => Some(EntityKind::Milestone),
        Change::AddIntent { .. } => Some(EntityKind::Intent),
        Change::AddChange { .. } => Some(EntityKind::Change),
        Change::AddDoc { .. } | Change::Set { .. } | Change::Remove { .. } => None,
    };
    // Ids are given in order, so the one this line will get is known before it is applied.
    let id = kind.map(|kind| numbers.give(kind));
    match (name, id) {
        (None, _) => {}
        (Some(Value::String(name)), Some(id)) => {
            names.insert(name, id);
        }
        (Some(_), _) => return Err("`as` names what a line adds, with a text".to_owned()),
    }
    Ok(change)
}

/// Puts ids where names are.
fn named(value: &mut Value, names: &HashMap<String, String>, unknown: &mut Option<String>) {
    match value {
        Value::String(text) => {
            // A handle alone is a name; a text that begins with one, such as a mail address, is a text.
            let name = text
                .strip_prefix('@')
                .filter(|name| !name.is_empty() && !name.contains(char::is_whitespace));
            if let Some(name) = name.map(str::to_owned) {
                match names.get(&name) {
                    Some(id) => *text = id.clone(),
                    None => *unknown = Some(name),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|one| named(one, names, unknown)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|one| named(one, names, unknown)),
        _ => {}
    }
}
