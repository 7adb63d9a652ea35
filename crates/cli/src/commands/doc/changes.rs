//! Editing commands of `tl doc`: each one becomes a single `PlanChange` of the document.

use std::io::Read;

use application::Failure;
use clap::Subcommand;
use domain::plan_document::{DocPlace, PlanChange, TestPlan};
use serde_json::{Map, Value};

use super::DocumentOption;

#[derive(Clone, Debug, Subcommand)]
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
    #[command(flatten)]
    Context(ContextArgs),
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
    #[command(flatten)]
    Part(PartArgs),
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

/// Commands that add to the planning context.
#[derive(Clone, Debug, Subcommand)]
#[allow(
    clippy::enum_variant_names,
    reason = "the variants are the command names: `add-decision`"
)]
pub(super) enum ContextArgs {
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
}

/// Commands that add a part to a milestone.
#[derive(Clone, Debug, Subcommand)]
#[allow(
    clippy::enum_variant_names,
    reason = "the variants are the command names: `add-decision`"
)]
pub(super) enum PartArgs {
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
}

impl ChangeArgs {
    /// Converts the arguments into a change, and returns it with its document option.
    ///
    /// Written out variant by variant, although the fields are nearly the same: `PlanChange` is a
    /// file format (`tl doc apply`, MCP), and must not change because an option is renamed.
    pub(super) fn into_change(self) -> Result<(PlanChange, DocumentOption), Failure> {
        Ok(match self {
            Self::Set {
                id,
                fields,
                version,
                which,
            } => {
                // Not validated here: `domain::plan_document` knows the fields of every entity, and
                // reports all problems of a change with their paths.
                let fields = parse_fields(&fields)?;
                let change = PlanChange::Set {
                    id,
                    version,
                    fields,
                };
                (change, which)
            }
            Self::Context(addition) => addition.into_change(),
            Self::AddMilestone {
                name,
                files,
                flags,
                requirements,
                criteria: acceptance_criteria,
                needs: depends_on,
                test_files,
                skip_tests,
                documentation_only: is_documentation_only,
                delegate: delegated_to,
                which,
            } => {
                // Flags for the common parts of a test plan only; the rest is set with `tl doc set`
                // or in a batch.
                let tests = TestPlan {
                    files: test_files,
                    skip_reason: skip_tests,
                    ..TestPlan::default()
                };
                let change = PlanChange::AddMilestone {
                    name,
                    files,
                    flags,
                    requirements,
                    acceptance_criteria,
                    depends_on,
                    tests,
                    is_documentation_only,
                    delegated_to,
                };
                (change, which)
            }
            Self::Part(addition) => addition.into_change()?,
            Self::Remove { id, version, which } => (PlanChange::Remove { id, version }, which),
        })
    }
}

impl ContextArgs {
    fn into_change(self) -> (PlanChange, DocumentOption) {
        match self {
            Self::AddDecision {
                decision,
                reasoning,
                which,
            } => {
                let change = PlanChange::AddDecision {
                    decision,
                    reasoning,
                };
                (change, which)
            }
            Self::AddAlternative {
                alternative,
                reason,
                decision_ref,
                which,
            } => {
                let change = PlanChange::AddAlternative {
                    alternative,
                    reason,
                    decision_ref,
                };
                (change, which)
            }
            Self::AddConstraint {
                kind,
                description,
                source,
                which,
            } => {
                let change = PlanChange::AddConstraint {
                    kind,
                    description,
                    source,
                };
                (change, which)
            }
            Self::AddRisk {
                risk,
                mitigation,
                anchor,
                decision_ref,
                which,
            } => {
                let change = PlanChange::AddRisk {
                    risk,
                    mitigation,
                    anchor,
                    decision_ref,
                };
                (change, which)
            }
        }
    }
}

impl PartArgs {
    fn into_change(self) -> Result<(PlanChange, DocumentOption), Failure> {
        Ok(match self {
            Self::AddIntent {
                milestone,
                file,
                function,
                behavior,
                decision_refs,
                params,
                which,
            } => {
                let params = parse_fields(&params)?.into_iter().collect();
                let change = PlanChange::AddIntent {
                    milestone,
                    file,
                    function,
                    behavior,
                    decision_refs,
                    params,
                };
                (change, which)
            }
            Self::AddChange {
                intent: intent_ref,
                diff,
                file,
                context_lines,
                why_comments,
                which,
            } => {
                // From a file or stdin: a diff as an argument would need quoting that no shell gets
                // right.
                let diff = read_file_or_stdin(&diff)?;
                let change = PlanChange::AddChange {
                    intent_ref,
                    file,
                    diff,
                    context_lines,
                    why_comments,
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
                let place = parse_doc_place(&place)?;
                let change = PlanChange::AddDoc {
                    milestone,
                    place,
                    target,
                    text,
                };
                (change, which)
            }
        })
    }
}

/// Parses a kind of documentation.
///
/// Not a clap `ValueEnum`: domain types do not know clap, and a second enum would have to follow.
fn parse_doc_place(word: &str) -> Result<DocPlace, Failure> {
    let found = DocPlace::ALL.iter().find(|(known, _)| *known == word);
    found.map(|(_, place)| *place).ok_or_else(|| {
        let words: Vec<&str> = DocPlace::ALL.iter().map(|(word, _)| *word).collect();
        Failure::invalid(format!(
            "`{word}` is not a kind of documentation: expected one of {}",
            words.join(", ")
        ))
    })
}

/// Parses `NAME=text` and `NAME:=JSON`.
fn parse_fields(fields: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut found = Map::new();
    for field in fields {
        // At the first `=`: the value may contain more of them.
        let (name, value) = field.split_once('=').ok_or_else(|| {
            Failure::invalid(format!(
                "`{field}` is not an assignment: expected FIELD=VALUE"
            ))
        })?;
        // Text is the usual case and needs no quotes; `:=` is for lists, numbers and flags.
        match name.strip_suffix(':') {
            None => found.insert(name.to_owned(), Value::from(value)),
            Some(name) => {
                let value = serde_json::from_str(value).map_err(|error| {
                    Failure::invalid(format!("the value of `{name}` is not valid JSON: {error}"))
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
    read.map_err(|error| Failure::invalid(format!("cannot read `{file}`: {error}")))
}
