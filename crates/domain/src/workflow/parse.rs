//! Parses a workflow from TOML: roles and steps.
//!
//! Everything a run relies on is checked here, so that a running workflow cannot reach a step that
//! does not exist.

use serde::Deserialize;
use toml::Spanned;

use super::{
    Given, ROLE_COMMANDS, Requirement, StepEffect, StepKind, SubjectKind, Workflow, WorkflowRole,
    WorkflowStep,
};
use crate::toml_reader::{TomlProblem, TomlReader, unspan_words};

/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkflow {
    name: Spanned<String>,
    title: Option<String>,
    subject: Option<Spanned<String>>,
    #[serde(default, rename = "role")]
    roles: Vec<RawRole>,
    #[serde(default, rename = "step")]
    steps: Vec<RawStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRole {
    name: Spanned<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    may: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    name: Spanned<String>,
    title: Option<String>,
    role: Spanned<String>,
    kind: Option<Spanned<String>>,
    phase: Option<Spanned<String>>,
    #[serde(default)]
    gives: Vec<Spanned<String>>,
    #[serde(default)]
    requires: Vec<Spanned<String>>,
    #[serde(default)]
    effects: Vec<Spanned<String>>,
    on_fail: Option<Spanned<String>>,
    prompt: Spanned<String>,
}

/// Parses a workflow; `file` is only used in messages.
///
/// # Errors
/// The first problem, with its line.
pub fn parse_workflow(file: &str, text: &str) -> Result<Workflow, TomlProblem> {
    let reader = TomlReader {
        file,
        text,
        max_word_bytes: MAX_NAME_BYTES,
    };
    let raw: RawWorkflow = reader.parse()?;
    let name = reader.parse_word(&raw.name, "name")?;
    if raw.steps.is_empty() {
        return Err(reader.problem_at(&raw.name, "step", "expected at least one `[[step]]`"));
    }
    // The default has the fewest assumptions, since users' workflows may be about anything.
    let subjects = [
        ("anything", SubjectKind::Anything),
        ("document", SubjectKind::Document),
        ("node", SubjectKind::Node),
    ];
    let subject = reader.parse_choice(raw.subject.as_ref(), "subject", &subjects)?;
    let mut roles: Vec<WorkflowRole> = Vec::new();
    for raw_role in &raw.roles {
        let role = parse_role(reader, raw_role)?;
        if roles.iter().any(|other| other.name == role.name) {
            let why = format!("duplicate role `{}`", role.name);
            return Err(reader.problem_at(&raw_role.name, "role.name", &why));
        }
        roles.push(role);
    }
    let mut steps: Vec<WorkflowStep> = Vec::new();
    for step in &raw.steps {
        // With the earlier steps only: references point backwards, so that each failed gate repeats
        // work that was done and never skips any.
        let step = parse_step(reader, step, &roles, &steps)?;
        steps.push(step);
    }
    Ok(Workflow {
        title: raw.title.unwrap_or_else(|| name.clone()),
        name,
        subject,
        roles,
        steps,
    })
}

/// Parses a role.
fn parse_role(reader: TomlReader<'_>, raw: &RawRole) -> Result<WorkflowRole, TomlProblem> {
    let known: Vec<&str> = ROLE_COMMANDS.iter().map(|(word, _)| *word).collect();
    let name = reader.parse_word(&raw.name, "role.name")?;
    for word in &raw.may {
        // A misspelt command would silently be forbidden, and the role could not finish its step.
        reader.check_known(word, "role.may", "command", &known)?;
    }
    Ok(WorkflowRole {
        name,
        text: raw.text.trim().to_owned(),
        may: unspan_words(&raw.may),
    })
}

/// Parses a step; it may refer to the roles and to earlier steps.
fn parse_step(
    reader: TomlReader<'_>,
    raw: &RawStep,
    roles: &[WorkflowRole],
    earlier: &[WorkflowStep],
) -> Result<WorkflowStep, TomlProblem> {
    let name = reader.parse_word(&raw.name, "step.name")?;
    if earlier.iter().any(|step| step.name == name) {
        let why = format!("duplicate step `{name}`");
        return Err(reader.problem_at(&raw.name, "step.name", &why));
    }
    // Every step has a declared role, so that `is_command_allowed` always finds one.
    let known: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
    reader.check_known(&raw.role, "step.role", "role", &known)?;
    let kinds = [
        ("work", StepKind::Work),
        ("review", StepKind::Review),
        ("gate", StepKind::Gate),
    ];
    let kind = reader.parse_choice(raw.kind.as_ref(), "step.kind", &kinds)?;
    let phase = parse_phase(reader, raw, kind, earlier)?;
    let on_fail = parse_on_fail(reader, raw, kind, earlier)?;
    // A step without a task would hand an agent nothing but context.
    if raw.prompt.get_ref().trim().is_empty() {
        return Err(reader.problem_at(&raw.prompt, "step.prompt", "is empty"));
    }
    Ok(WorkflowStep {
        title: raw.title.clone().unwrap_or_else(|| name.clone()),
        name,
        role: raw.role.get_ref().clone(),
        kind,
        phase,
        gives: reader.parse_choices(&raw.gives, "step.gives", Given::ALL)?,
        requires: reader.parse_choices(&raw.requires, "step.requires", Requirement::ALL)?,
        effects: reader.parse_choices(&raw.effects, "step.effects", StepEffect::ALL)?,
        on_fail,
        prompt: raw.prompt.get_ref().trim().to_owned(),
    })
}

/// Parses the phase of a step: reviews and gates have one, and a gate's was reviewed before it.
fn parse_phase(
    reader: TomlReader<'_>,
    raw: &RawStep,
    kind: StepKind,
    earlier: &[WorkflowStep],
) -> Result<Option<String>, TomlProblem> {
    let problem = |why: &str| Err(reader.problem_at(&raw.name, "step.phase", why));
    let phase = raw
        .phase
        .as_ref()
        .map(|phase| reader.parse_word(phase, "step.phase"))
        .transpose()?;
    if kind != StepKind::Work && phase.is_none() {
        return problem("a review or a gate needs the phase it is about");
    }
    // A gate without a review before it could never be decided.
    let is_reviewed = earlier
        .iter()
        .any(|step| step.kind == StepKind::Review && step.phase == phase);
    if kind == StepKind::Gate && !is_reviewed {
        return problem("no step before this gate reviews its phase");
    }
    Ok(phase)
}

/// Parses the step that a failed gate returns to; only a gate has one.
fn parse_on_fail(
    reader: TomlReader<'_>,
    raw: &RawStep,
    kind: StepKind,
    earlier: &[WorkflowStep],
) -> Result<Option<String>, TomlProblem> {
    let key = "step.on_fail";
    let Some(back) = &raw.on_fail else {
        return match kind {
            StepKind::Gate => {
                let why = "a gate needs the step that a failed review returns to";
                Err(reader.problem_at(&raw.name, key, why))
            }
            StepKind::Work | StepKind::Review => Ok(None),
        };
    };
    let known: Vec<&str> = earlier.iter().map(|step| step.name.as_str()).collect();
    reader.check_known(back, key, "earlier step", &known)?;
    if kind != StepKind::Gate {
        return Err(reader.problem_at(back, key, "only a gate can fail"));
    }
    Ok(Some(back.get_ref().clone()))
}
