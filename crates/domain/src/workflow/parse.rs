//! Parses a workflow from TOML; errors name file, line, key and the allowed values.
//!
//! Everything a run relies on is checked here, so that a running workflow cannot reach a step that
//! does not exist.

use serde::Deserialize;
use toml::Spanned;

use super::{
    Given, ROLE_COMMANDS, Requirement, StepEffect, StepKind, SubjectKind, Workflow, WorkflowRole,
    WorkflowStep,
};
use crate::suggest::with_suggestion;

/// A problem in a workflow and its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct WorkflowProblem {
    pub file: String,
    pub line: usize,
    pub message: String,
}

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
pub fn parse_workflow(file: &str, text: &str) -> Result<Workflow, WorkflowProblem> {
    let reader = WorkflowReader { file, text };
    let raw: RawWorkflow = toml::from_str(text).map_err(|error| WorkflowProblem {
        file: file.to_owned(),
        line: error
            .span()
            .map_or(1, |span| reader.line_number(span.start)),
        message: with_suggestion(error.message()),
    })?;
    reader.check_word(&raw.name, "name")?;
    if raw.steps.is_empty() {
        return Err(reader.problem_at(&raw.name, "step", "expected at least one `[[step]]`"));
    }
    let subjects = [
        ("document", SubjectKind::Document),
        ("node", SubjectKind::Node),
        ("anything", SubjectKind::Anything),
    ];
    let subject = match &raw.subject {
        // The kind with the fewest assumptions, since users' workflows may be about anything.
        None => SubjectKind::Anything,
        Some(word) => reader.parse_choice(word, "subject", &subjects)?,
    };
    let roles = raw
        .roles
        .iter()
        .map(|role| reader.read_role(role))
        .collect::<Result<Vec<_>, _>>()?;
    for (at, role) in raw.roles.iter().enumerate() {
        if roles[..at]
            .iter()
            .any(|other| other.name == *role.name.get_ref())
        {
            return Err(reader.problem_at(
                &role.name,
                "role.name",
                &format!("duplicate role `{}`", role.name.get_ref()),
            ));
        }
    }
    let mut steps: Vec<WorkflowStep> = Vec::new();
    for step in &raw.steps {
        // With the earlier steps only: references point backwards, so that each failed gate repeats
        // work that was done and never skips any.
        let step = reader.read_step(step, &roles, &steps)?;
        steps.push(step);
    }
    Ok(Workflow {
        title: raw.title.unwrap_or_else(|| raw.name.get_ref().clone()),
        name: raw.name.into_inner(),
        subject,
        roles,
        steps,
    })
}

struct WorkflowReader<'a> {
    file: &'a str,
    text: &'a str,
}

impl WorkflowReader<'_> {
    fn line_number(&self, offset: usize) -> usize {
        1 + self
            .text
            .bytes()
            .take(offset)
            .filter(|byte| *byte == b'\n')
            .count()
    }

    fn problem_at(&self, at: &Spanned<String>, key: &str, why: &str) -> WorkflowProblem {
        let line = self.line_number(at.span().start);
        WorkflowProblem {
            file: self.file.to_owned(),
            line,
            message: format!("`{key}`: {why}"),
        }
    }

    fn check_word(&self, at: &Spanned<String>, key: &str) -> Result<(), WorkflowProblem> {
        let name = at.get_ref();
        let fits = !name.is_empty()
            && name.len() <= 60
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "-_".contains(c));
        if fits {
            Ok(())
        } else {
            Err(self.problem_at(at, key, "expected one word of letters, digits, `-` or `_`"))
        }
    }

    fn parse_choice<T: Copy>(
        &self,
        at: &Spanned<String>,
        key: &str,
        known: &[(&str, T)],
    ) -> Result<T, WorkflowProblem> {
        known
            .iter()
            .find(|(word, _)| word == at.get_ref())
            .map(|(_, value)| *value)
            .ok_or_else(|| {
                let words: Vec<String> =
                    known.iter().map(|(word, _)| format!("`{word}`")).collect();
                self.problem_at(
                    at,
                    key,
                    &format!(
                        "`{}` is not allowed: expected one of {}",
                        at.get_ref(),
                        words.join(", ")
                    ),
                )
            })
    }

    fn parse_choices<T: Copy>(
        &self,
        list: &[Spanned<String>],
        key: &str,
        known: &[(&str, T)],
    ) -> Result<Vec<T>, WorkflowProblem> {
        list.iter()
            .map(|word| self.parse_choice(word, key, known))
            .collect()
    }

    fn read_role(&self, raw: &RawRole) -> Result<WorkflowRole, WorkflowProblem> {
        self.check_word(&raw.name, "role.name")?;
        // A misspelt command would silently be forbidden, and the role could not finish its step.
        let known: Vec<(&str, ())> = ROLE_COMMANDS.iter().map(|(word, _)| (*word, ())).collect();
        self.parse_choices(&raw.may, "role.may", &known)?;
        Ok(WorkflowRole {
            name: raw.name.get_ref().clone(),
            text: raw.text.trim().to_owned(),
            may: raw.may.iter().map(|word| word.get_ref().clone()).collect(),
        })
    }

    fn read_step(
        &self,
        raw: &RawStep,
        roles: &[WorkflowRole],
        earlier: &[WorkflowStep],
    ) -> Result<WorkflowStep, WorkflowProblem> {
        self.check_word(&raw.name, "step.name")?;
        let name = raw.name.get_ref().clone();
        if earlier.iter().any(|step| step.name == name) {
            return Err(self.problem_at(
                &raw.name,
                "step.name",
                &format!("duplicate step `{name}`"),
            ));
        }
        let known: Vec<(&str, ())> = roles.iter().map(|role| (role.name.as_str(), ())).collect();
        // Every step has a declared role, so that `is_command_allowed` always finds one.
        self.parse_choice(&raw.role, "step.role", &known)?;
        let kinds = [
            ("work", StepKind::Work),
            ("review", StepKind::Review),
            ("gate", StepKind::Gate),
        ];
        let kind = match &raw.kind {
            None => StepKind::Work,
            Some(word) => self.parse_choice(word, "step.kind", &kinds)?,
        };
        if let Some(phase) = &raw.phase {
            self.check_word(phase, "step.phase")?;
        }
        if kind != StepKind::Work && raw.phase.is_none() {
            return Err(self.problem_at(
                &raw.name,
                "step.phase",
                "a review or a gate needs the phase it is about",
            ));
        }
        let phase = raw.phase.as_ref().map(|phase| phase.get_ref().clone());
        // A gate without a review before it could never be decided.
        let reviewed = earlier
            .iter()
            .any(|step| step.kind == StepKind::Review && step.phase == phase);
        if kind == StepKind::Gate && !reviewed {
            return Err(self.problem_at(
                &raw.name,
                "step.phase",
                "no step before this gate reviews its phase",
            ));
        }
        if let Some(back) = &raw.on_fail
            && !earlier.iter().any(|step| step.name == *back.get_ref())
        {
            let words: Vec<String> = earlier
                .iter()
                .map(|step| format!("`{}`", step.name))
                .collect();
            let why = format!(
                "no step `{}` before this one: expected one of {}",
                back.get_ref(),
                words.join(", ")
            );
            return Err(self.problem_at(back, "step.on_fail", &why));
        }
        match (kind, &raw.on_fail) {
            (StepKind::Gate, None) => {
                return Err(self.problem_at(
                    &raw.name,
                    "step.on_fail",
                    "a gate needs the step that a failed review returns to",
                ));
            }
            (StepKind::Work | StepKind::Review, Some(back)) => {
                return Err(self.problem_at(back, "step.on_fail", "only a gate can fail"));
            }
            _ => {}
        }
        // A step without a task would hand an agent nothing but context.
        if raw.prompt.get_ref().trim().is_empty() {
            return Err(self.problem_at(&raw.prompt, "step.prompt", "is empty"));
        }
        Ok(WorkflowStep {
            title: raw.title.clone().unwrap_or_else(|| name.clone()),
            name,
            role: raw.role.get_ref().clone(),
            kind,
            phase,
            gives: self.parse_choices(&raw.gives, "step.gives", Given::ALL)?,
            requires: self.parse_choices(&raw.requires, "step.requires", Requirement::ALL)?,
            effects: self.parse_choices(&raw.effects, "step.effects", StepEffect::ALL)?,
            on_fail: raw.on_fail.as_ref().map(|back| back.get_ref().clone()),
            prompt: raw.prompt.get_ref().trim().to_owned(),
        })
    }
}
