//! Editing commands of `tl doc`: each one becomes a single `Change` of the document.

use std::io::Read;

use application::Failure;
use clap::Subcommand;
use domain::plan_document::{DocPlace, PlanChange, TestPlan};
use serde_json::{Map, Value};

use super::{DocumentOption, invalid_input};

#[derive(Debug, Subcommand)]
pub(super) enum ChangeArgs {
    /// Set fields of an entity, based on the version you read
    #[command(
        after_help = "FIELD=VALUE sets a text, FIELD:=JSON anything: files:='[\"a.rs\"]'. A dot goes inside: tests.skip_reason=…"
    )]
    Set {
        /// `M-001`, `DL-002`, `overview`, `invisible_knowledge`, `milestone_dependencies`
        id: String,
        #[arg(required = true, value_name = "FIELD=VALUE")]
        fields: Vec<String>,
        /// Version you read; fails if the entity has changed since
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Record a decision with its reasons
    AddDecision {
        #[arg(long, value_name = "TEXT")]
        decision: String,
        #[arg(long, value_name = "TEXT")]
        reasoning: String,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Record an alternative that was rejected
    AddAlternative {
        #[arg(long, value_name = "TEXT")]
        alternative: String,
        /// Why it was rejected
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The decision that was taken instead
        #[arg(long, value_name = "DL-NNN")]
        decision_ref: String,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Record a constraint on the plan
    AddConstraint {
        #[arg(long = "type", value_name = "TEXT")]
        kind: String,
        #[arg(long, value_name = "TEXT")]
        description: String,
        /// Where the constraint comes from
        #[arg(long, value_name = "TEXT", default_value = "")]
        source: String,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Record a risk with its mitigation
    AddRisk {
        #[arg(long, value_name = "TEXT")]
        risk: String,
        #[arg(long, value_name = "TEXT")]
        mitigation: String,
        /// Location in the code
        #[arg(long, value_name = "PLACE")]
        anchor: Option<String>,
        #[arg(long, value_name = "DL-NNN")]
        decision_ref: Option<String>,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Add a milestone: a part that can be built and verified on its own
    AddMilestone {
        #[arg(long, value_name = "TEXT")]
        name: String,
        /// File it changes; may be repeated
        #[arg(long = "file", value_name = "PATH")]
        files: Vec<String>,
        #[arg(long = "flag", value_name = "WORD")]
        flags: Vec<String>,
        #[arg(long = "requirement", value_name = "TEXT")]
        requirements: Vec<String>,
        /// Acceptance criterion; may be repeated
        #[arg(long = "criterion", value_name = "TEXT")]
        criteria: Vec<String>,
        /// Milestone that must be complete first; may be repeated
        #[arg(long = "needs", value_name = "M-NNN")]
        needs: Vec<String>,
        #[arg(long = "test-file", value_name = "PATH")]
        test_files: Vec<String>,
        /// Reason for having no tests
        #[arg(long, value_name = "TEXT")]
        skip_tests: Option<String>,
        #[arg(long)]
        documentation_only: bool,
        /// Role that carries it out
        #[arg(long, value_name = "ROLE")]
        delegate: Option<String>,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Add an intent: one intended change of behaviour in one file
    AddIntent {
        #[arg(long, value_name = "M-NNN")]
        milestone: String,
        #[arg(long, value_name = "PATH")]
        file: String,
        #[arg(long, value_name = "NAME")]
        function: Option<String>,
        #[arg(long, value_name = "TEXT")]
        behavior: String,
        /// Decision it follows from; may be repeated
        #[arg(long = "decision-ref", value_name = "DL-NNN")]
        decision_refs: Vec<String>,
        /// Parameter; may be repeated
        #[arg(long = "param", value_name = "NAME=VALUE")]
        params: Vec<String>,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Add a code change: a diff that implements an intent
    AddChange {
        #[arg(long, value_name = "CI-NNN")]
        intent: String,
        /// File with the unified diff, or `-` for standard input
        #[arg(long, value_name = "FILE")]
        diff: String,
        /// File it changes [default: the intent's]
        #[arg(long, value_name = "PATH")]
        file: Option<String>,
        /// Context lines around the change
        #[arg(long, value_name = "TEXT", default_value = "")]
        context_lines: String,
        /// Comment that explains a line; may be repeated
        #[arg(long = "why", value_name = "TEXT")]
        why_comments: Vec<String>,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Add documentation to a milestone
    AddDoc {
        #[arg(long, value_name = "M-NNN")]
        milestone: String,
        /// Kind of documentation: module, docstring, algorithm or inline
        #[arg(long, value_name = "PLACE")]
        place: String,
        /// Function, file or line it belongs to
        #[arg(long, value_name = "NAME", default_value = "")]
        target: String,
        #[arg(long, value_name = "TEXT")]
        text: String,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Remove an entity that nothing refers to
    Remove {
        id: String,
        /// Version you read; fails if the entity has changed since
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        #[command(flatten)]
        which: DocumentOption,
    },
}

impl ChangeArgs {
    /// Converts the arguments into a change, and returns it with its document option.
    pub(super) fn to_change(&self) -> Result<(PlanChange, &DocumentOption), Failure> {
        // Written out variant by variant, although the fields are nearly the same: `Change` is a
        // file format (`tl doc apply`, MCP), and must not change because an option is renamed.
        Ok(match self {
            Self::Set {
                id,
                fields,
                version,
                which,
            } => (
                PlanChange::Set {
                    id: id.clone(),
                    version: *version,
                    // Not validated here: `domain::plan_document` knows the fields of every entity,
                    // and reports all problems of a change with their paths.
                    fields: parse_fields(fields)?,
                },
                which,
            ),
            Self::AddDecision {
                decision,
                reasoning,
                which,
            } => (
                PlanChange::AddDecision {
                    decision: decision.clone(),
                    reasoning: reasoning.clone(),
                },
                which,
            ),
            Self::AddAlternative {
                alternative,
                reason,
                decision_ref,
                which,
            } => {
                let (alternative, reason) = (alternative.clone(), reason.clone());
                (
                    PlanChange::AddAlternative {
                        alternative,
                        reason,
                        decision_ref: decision_ref.clone(),
                    },
                    which,
                )
            }
            Self::AddConstraint {
                kind,
                description,
                source,
                which,
            } => {
                let (kind, description, source) =
                    (kind.clone(), description.clone(), source.clone());
                (
                    PlanChange::AddConstraint {
                        kind,
                        description,
                        source,
                    },
                    which,
                )
            }
            Self::AddRisk {
                risk,
                mitigation,
                anchor,
                decision_ref,
                which,
            } => {
                let (risk, mitigation, anchor) = (risk.clone(), mitigation.clone(), anchor.clone());
                (
                    PlanChange::AddRisk {
                        risk,
                        mitigation,
                        anchor,
                        decision_ref: decision_ref.clone(),
                    },
                    which,
                )
            }
            Self::AddMilestone {
                name,
                files,
                flags,
                requirements,
                criteria,
                needs,
                test_files,
                skip_tests,
                documentation_only,
                delegate,
                which,
            } => {
                // Flags for the common parts of a test plan only; the rest is set with `tl doc set`
                // or in a batch.
                let tests = TestPlan {
                    files: test_files.clone(),
                    skip_reason: skip_tests.clone(),
                    ..TestPlan::default()
                };
                let change = PlanChange::AddMilestone {
                    name: name.clone(),
                    files: files.clone(),
                    flags: flags.clone(),
                    requirements: requirements.clone(),
                    acceptance_criteria: criteria.clone(),
                    depends_on: needs.clone(),
                    tests,
                    is_documentation_only: *documentation_only,
                    delegated_to: delegate.clone(),
                };
                (change, which)
            }
            Self::AddIntent {
                milestone,
                file,
                function,
                behavior,
                decision_refs,
                params,
                which,
            } => {
                let change = PlanChange::AddIntent {
                    milestone: milestone.clone(),
                    file: file.clone(),
                    function: function.clone(),
                    behavior: behavior.clone(),
                    decision_refs: decision_refs.clone(),
                    params: parse_fields(params)?.into_iter().collect(),
                };
                (change, which)
            }
            Self::AddChange {
                intent,
                diff,
                file,
                context_lines,
                why_comments,
                which,
            } => {
                let change = PlanChange::AddChange {
                    intent_ref: intent.clone(),
                    file: file.clone(),
                    // From a file or stdin: a diff as an argument would need quoting that no shell
                    // gets right.
                    diff: read_file_or_stdin(diff)?,
                    context_lines: context_lines.clone(),
                    why_comments: why_comments.clone(),
                };
                (change, which)
            }
            Self::AddDoc {
                milestone,
                place,
                target,
                text,
                which,
            } => {
                // Not a clap `ValueEnum`: domain types do not know clap, and a second enum would
                // have to follow.
                let found = DocPlace::ALL.iter().find(|(word, _)| word == place);
                let (_, place) = found.ok_or_else(|| {
                    let words: Vec<&str> = DocPlace::ALL.iter().map(|(word, _)| *word).collect();
                    invalid_input(format!(
                        "`{place}` is not a kind of documentation: expected one of {}",
                        words.join(", ")
                    ))
                })?;
                let (milestone, place, target, text) =
                    (milestone.clone(), *place, target.clone(), text.clone());
                (
                    PlanChange::AddDoc {
                        milestone,
                        place,
                        target,
                        text,
                    },
                    which,
                )
            }
            Self::Remove { id, version, which } => (
                PlanChange::Remove {
                    id: id.clone(),
                    version: *version,
                },
                which,
            ),
        })
    }
}

/// Parses `NAME=text` and `NAME:=JSON`.
fn parse_fields(fields: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut found = Map::new();
    for field in fields {
        // At the first `=`: the value may contain more of them.
        let (name, value) = field.split_once('=').ok_or_else(|| {
            invalid_input(format!(
                "`{field}` is not an assignment: expected FIELD=VALUE"
            ))
        })?;
        match name.strip_suffix(':') {
            None => found.insert(name.to_owned(), Value::from(value)),
            Some(name) => {
                let value = serde_json::from_str(value).map_err(|error| {
                    invalid_input(format!("the value of `{name}` is not valid JSON: {error}"))
                })?;
                found.insert(name.to_owned(), value)
            }
        };
    }
    Ok(found)
}

/// Reads a file, or standard input for `-`.
pub(super) fn read_file_or_stdin(file: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if file == "-" {
        std::io::stdin()
            .lock()
            .read_to_string(&mut text)
            .map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    read.map_err(|error| invalid_input(format!("cannot read `{file}`: {error}")))
}
