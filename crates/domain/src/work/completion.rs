//! Rule for "done": everything that is still open about a node, each gap with the command that closes
//! it.
//!
//! The only place of the rule: commands, tools, file edits, commits and roll-ups ask it alike. What
//! follows from a gap (a refusal, a warning, a node that stays open) is decided by the mode of the
//! `done` gate. Pure: the caller gathers the inputs.

use super::evidence::{ProofCheck, ProofStatus};
use super::tdd::Cycle;
use crate::node::Progress;
use crate::plan_document::UnchangedIntent;
use crate::profile::EvidenceNeed;
use crate::text::count_with_noun;

/// Everything the completion of a node depends on.
#[derive(Clone, Debug, Default)]
pub struct CompletionInputs<'i> {
    pub need: EvidenceNeed,
    pub proofs: &'i [(ProofCheck, ProofStatus)],
    /// The nodes below it that are not complete.
    pub open_below: &'i [OpenNode],
    /// Paths of the scenarios that were deleted before they were done.
    pub removed_scenarios: &'i [String],
    /// The file that its scenarios are in.
    pub scenario_file: Option<&'i str>,
    /// Names of the children that were deleted before they were done.
    pub removed_children: &'i [String],
    /// Names of the nodes it needs that were deleted before they were done.
    pub removed_needs: &'i [String],
    /// The phases of its work level that it has not gone through, without the ones that are the work.
    pub skipped_phases: &'i [&'i str],
    /// Paths of the nodes it needs that are not complete.
    pub open_needs: &'i [String],
    /// Subjects of the reviews of it that have not ended.
    pub open_reviews: &'i [String],
    /// The workflows under way on it.
    pub workflows: &'i [String],
    /// The test-driven cycle, of a scenario in a repository.
    pub cycle: Option<CycleInput<'i>>,
    /// The intents of a milestone, or the intent itself, whose file is as it was at the freeze.
    pub unchanged_intents: &'i [UnchangedIntent],
    /// Test files that a milestone names and that are missing or empty.
    pub missing_tests: &'i [String],
    /// Whether it is a ticket without scenarios and children for which nobody changed a file.
    pub is_untouched: bool,
    /// Whether it is a ticket of a size that has scenarios, without scenarios and children.
    pub lacks_scenarios: bool,
    /// Whether the policy asks for a sign of work: a failing test first, a proof that can fail.
    pub asks_for_work: bool,
}

/// A node below the one that is completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenNode {
    pub path: String,
    pub progress: Progress,
    pub is_scenario: bool,
}

/// The commits of a scenario, as far as its completion depends on them.
#[derive(Clone, Copy, Debug)]
pub struct CycleInput<'i> {
    pub last_step: Option<Cycle>,
    /// Subject of a commit that implemented it before any failing test.
    pub untested: Option<&'i str>,
    /// Whether the policy asks for a failing test first.
    pub requires_test: bool,
}

/// One reason why a node is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionGap {
    OpenScenario {
        path: String,
    },
    /// It was deleted before it was done, while the ticket was implemented.
    RemovedScenario {
        path: String,
        file: Option<String>,
    },
    OpenChild {
        path: String,
        progress: Progress,
    },
    /// It was deleted, or is no longer part of the node, before it was done.
    RemovedChild {
        name: String,
    },
    /// It is needed, and was deleted before it was done.
    RemovedNeed {
        name: String,
    },
    /// The ticket has not gone through phases of its work level.
    SkippedPhases {
        phases: Vec<String>,
    },
    OpenNeed {
        path: String,
    },
    /// Evidence is required, and none is declared.
    NoEvidence,
    Proof {
        condition: String,
        status: ProofStatus,
    },
    /// All its evidence passes whatever was done.
    VacuousProof {
        condition: String,
    },
    /// The file of an intent is as it was when the plan was frozen.
    UnchangedIntent {
        intent: String,
        file: String,
    },
    /// A test file that the milestone names is missing or empty.
    MissingTest {
        file: String,
    },
    OpenReview {
        subject: String,
    },
    ActiveWorkflow {
        workflow: String,
    },
    /// The last commit of the scenario is its failing test.
    FailingTest,
    /// No commit belongs to the scenario, and nothing proves it.
    NoCommit,
    /// A ticket without scenarios and evidence, for which no file was changed.
    NoWork,
    /// A ticket without scenarios, children and evidence: nothing says what done means.
    NoScenario,
    /// It was implemented before there was a test for it.
    UntestedCommit {
        subject: String,
    },
}

/// Returns everything that is open about a node; empty if it may count as complete.
#[must_use]
pub fn find_completion_gaps(inputs: &CompletionInputs<'_>) -> Vec<CompletionGap> {
    let mut gaps = Vec::new();
    for open in inputs.open_below {
        gaps.push(match open.is_scenario {
            true => CompletionGap::OpenScenario {
                path: open.path.clone(),
            },
            false => CompletionGap::OpenChild {
                path: open.path.clone(),
                progress: open.progress,
            },
        });
    }
    let removed = inputs.removed_scenarios.iter();
    gaps.extend(removed.map(|path| CompletionGap::RemovedScenario {
        path: path.clone(),
        file: inputs.scenario_file.map(str::to_owned),
    }));
    let children = inputs.removed_children.iter();
    gaps.extend(children.map(|name| CompletionGap::RemovedChild { name: name.clone() }));
    let needs = inputs.removed_needs.iter();
    gaps.extend(needs.map(|name| CompletionGap::RemovedNeed { name: name.clone() }));
    if !inputs.skipped_phases.is_empty() {
        let phases = inputs.skipped_phases.iter();
        gaps.push(CompletionGap::SkippedPhases {
            phases: phases.map(|phase| (*phase).to_owned()).collect(),
        });
    }
    gaps.extend(
        inputs
            .open_needs
            .iter()
            .map(|path| CompletionGap::OpenNeed { path: path.clone() }),
    );
    let proofs = inputs.proofs.iter();
    gaps.extend(
        proofs
            // A pass for other inputs proves nothing about the present ones.
            .filter(|(_, status)| *status != ProofStatus::Fresh)
            .map(|(check, status)| CompletionGap::Proof {
                condition: check.describe_condition(),
                status: *status,
            }),
    );
    // Declared evidence always has to be fresh; `Required` adds that there has to be some.
    if inputs.need == EvidenceNeed::Required && inputs.proofs.is_empty() {
        gaps.push(CompletionGap::NoEvidence);
    }
    let intents = inputs.unchanged_intents.iter();
    gaps.extend(intents.map(|one| CompletionGap::UnchangedIntent {
        intent: one.intent.clone(),
        file: one.file.clone(),
    }));
    let tests = inputs.missing_tests.iter();
    gaps.extend(tests.map(|file| CompletionGap::MissingTest { file: file.clone() }));
    gaps.extend(inputs.cycle.and_then(|cycle| find_cycle_gap(inputs, cycle)));
    // Only where nothing else is open: the other gaps say more precisely what to do.
    if gaps.is_empty() {
        let vacuous = find_vacuous_proof(inputs).filter(|_| inputs.asks_for_work);
        let no_work = inputs.is_untouched && inputs.proofs.is_empty();
        let no_scenario = inputs.lacks_scenarios && inputs.proofs.is_empty();
        gaps.extend(
            vacuous
                .or_else(|| no_work.then_some(CompletionGap::NoWork))
                .or_else(|| no_scenario.then_some(CompletionGap::NoScenario)),
        );
    }
    let reviews = inputs.open_reviews.iter();
    gaps.extend(reviews.map(|subject| CompletionGap::OpenReview {
        subject: subject.clone(),
    }));
    let workflows = inputs.workflows.iter();
    gaps.extend(workflows.map(|workflow| CompletionGap::ActiveWorkflow {
        workflow: workflow.clone(),
    }));
    gaps
}

/// Returns the gap of a node that rests only on evidence that cannot fail, or, where nobody changed a
/// file, on files that were there before.
fn find_vacuous_proof(inputs: &CompletionInputs<'_>) -> Option<CompletionGap> {
    let (first, _) = inputs.proofs.first()?;
    let is_file = |check: &ProofCheck| matches!(check, ProofCheck::File { .. });
    let is_vacuous = inputs
        .proofs
        .iter()
        .all(|(check, _)| check.cannot_fail() || inputs.is_untouched && is_file(check));
    is_vacuous.then(|| CompletionGap::VacuousProof {
        condition: first.describe_condition(),
    })
}

/// Returns the gap in a scenario's test-driven cycle.
fn find_cycle_gap(inputs: &CompletionInputs<'_>, cycle: CycleInput<'_>) -> Option<CompletionGap> {
    // Evidence that ran is stronger than the subject line of a commit.
    let is_proved = !inputs.proofs.is_empty()
        && inputs
            .proofs
            .iter()
            .all(|(_, status)| *status == ProofStatus::Fresh);
    match (cycle.last_step, cycle.untested) {
        (Some(Cycle::Red), _) if !is_proved => Some(CompletionGap::FailingTest),
        (_, Some(subject)) if cycle.requires_test => Some(CompletionGap::UntestedCommit {
            subject: subject.to_owned(),
        }),
        (None, _) if cycle.requires_test && !is_proved => Some(CompletionGap::NoCommit),
        _ => None,
    }
}

impl CompletionGap {
    /// Describes the gap as part of a sentence.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::OpenScenario { path } => format!("scenario `{path}` is open"),
            Self::RemovedScenario { path, .. } => {
                format!("scenario `{path}` was deleted before it was done")
            }
            Self::OpenChild { path, progress } => format!("`{path}` is {progress}"),
            Self::RemovedChild { name } => {
                format!("`{name}` is part of it and was deleted before it was done")
            }
            Self::RemovedNeed { name } => {
                format!("it needs `{name}`, which was deleted before it was done")
            }
            Self::SkippedPhases { phases } => {
                let come = if phases.len() == 1 { "comes" } else { "come" };
                format!("{} {come} before it", phases.join(", "))
            }
            Self::OpenNeed { path } => format!("it needs `{path}`, which is not complete"),
            Self::NoEvidence => "it needs evidence, and none is declared".to_owned(),
            Self::Proof { condition, status } => {
                let why = match status {
                    ProofStatus::Open => "it has not run yet",
                    ProofStatus::Failed => "it failed",
                    ProofStatus::NeverFailed => "it was never seen to fail without the change",
                    ProofStatus::Stale | ProofStatus::Fresh => "its inputs changed since",
                };
                format!("{condition}: {why}")
            }
            Self::VacuousProof { condition } => {
                format!("{condition}, whatever was done: it proves nothing")
            }
            Self::UnchangedIntent { intent, file } => {
                format!(
                    "`{intent}` is not carried out: `{file}` is as it was when the plan was frozen"
                )
            }
            Self::MissingTest { file } => {
                format!("its test file `{file}` does not exist, or is empty")
            }
            Self::OpenReview { subject } => format!("the review of `{subject}` has not ended"),
            Self::ActiveWorkflow { workflow } => {
                format!("the workflow `{workflow}` is under way on it")
            }
            Self::FailingTest => "its last commit is a failing test".to_owned(),
            Self::NoCommit => "it has no commit and no evidence".to_owned(),
            Self::NoWork => {
                "it has no scenario and no evidence, and no session changed a file for it"
                    .to_owned()
            }
            Self::NoScenario => {
                "it has no scenario and no evidence, so nothing says that it works".to_owned()
            }
            Self::UntestedCommit { subject } => {
                format!("no failing test was committed before `{subject}`")
            }
        }
    }

    /// Returns the command that closes the gap, for a node at `path`.
    #[must_use]
    pub fn closing_command(&self, path: &str) -> String {
        match self {
            Self::OpenScenario { path } => format!("tl focus enter {path}"),
            Self::RemovedScenario {
                file: Some(file), ..
            } => format!("git log -p -- {file}   # its text, to write back into the file"),
            Self::RemovedScenario { .. } => format!("tl versions {path}   # its text before"),
            Self::OpenChild { path, .. } | Self::OpenNeed { path } => {
                format!("tl focus enter {path}")
            }
            Self::RemovedChild { name } => {
                format!(
                    "tl log {name}   # when it was deleted, to bring it back, or: status: wontfix"
                )
            }
            Self::RemovedNeed { name } => {
                format!("tl log {name}   # when it was deleted; bring it back, or change `needs:`")
            }
            Self::SkippedPhases { phases } => {
                let first = phases.first().map_or("", String::as_str);
                format!("tl ticket phase {path} {first}")
            }
            Self::NoEvidence
            | Self::NoCommit
            | Self::NoWork
            | Self::NoScenario
            | Self::VacuousProof { .. } => {
                format!("tl evidence propose {path}   # the project's own test command")
            }
            Self::Proof {
                status: ProofStatus::NeverFailed,
                ..
            } => {
                format!("tl evidence run {path}   # once without the change, then with it")
            }
            Self::Proof { .. } => format!("tl evidence run {path}"),
            Self::UnchangedIntent { intent, .. } => {
                let document = path.split('/').next().unwrap_or(path);
                format!("tl doc show {intent} --doc {document}   # what it asks for")
            }
            Self::MissingTest { .. } => {
                let mut parts = path.split('/');
                let document = parts.next().unwrap_or(path);
                let milestone = parts.next().unwrap_or(document);
                format!("tl doc show {milestone} --doc {document}   # what it is to be tested for")
            }
            Self::OpenReview { subject } => format!("tl review status --of {subject}"),
            Self::ActiveWorkflow { workflow } => {
                format!("tl flow next --for {path} --flow {workflow}")
            }
            Self::FailingTest => format!("tl where   # the commit that `{path}` expects next"),
            Self::UntestedCommit { .. } => {
                format!("tl evidence propose {path}   # a test that fails without the change")
            }
        }
    }
}

/// Maximum number of gaps that a message names; the rest is counted.
const MAX_NAMED_GAPS: usize = 6;

/// Describes why a node is not done, in one sentence.
#[must_use]
pub fn describe_gaps(node: &str, gaps: &[CompletionGap]) -> String {
    let mut parts: Vec<String> = gaps
        .iter()
        .take(MAX_NAMED_GAPS)
        .map(CompletionGap::describe)
        .collect();
    let surplus = gaps.len().saturating_sub(MAX_NAMED_GAPS);
    if surplus > 0 {
        parts.push(count_with_noun(surplus, "more gap", "more gaps"));
    }
    format!("`{node}` is not done: {}", parts.join("; "))
}

/// Returns the commands that close the gaps, each once, for a node at `path`.
#[must_use]
pub fn list_closing_commands(path: &str, gaps: &[CompletionGap]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for gap in gaps {
        let command = gap.closing_command(path);
        if !commands.contains(&command) {
            commands.push(command);
        }
        if commands.len() == MAX_NAMED_GAPS {
            break;
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::{
        CompletionGap, CompletionInputs, CycleInput, OpenNode, describe_gaps, find_completion_gaps,
        list_closing_commands,
    };
    use crate::node::Progress;
    use crate::plan_document::UnchangedIntent;
    use crate::profile::EvidenceNeed;
    use crate::work::evidence::{ProofCheck, ProofStatus};
    use crate::work::tdd::Cycle;

    fn proof(status: ProofStatus) -> (ProofCheck, ProofStatus) {
        proof_by("cargo test", status)
    }

    fn proof_by(command: &str, status: ProofStatus) -> (ProofCheck, ProofStatus) {
        let check = ProofCheck::Command {
            run: command.split(' ').map(str::to_owned).collect(),
            inputs: Vec::new(),
        };
        (check, status)
    }

    #[test]
    fn a_ticket_without_scenarios_lacks_only_what_nothing_else_says() {
        let inputs = CompletionInputs {
            lacks_scenarios: true,
            ..CompletionInputs::default()
        };
        assert_eq!(find_completion_gaps(&inputs), [CompletionGap::NoScenario]);
        let proofs = [proof(ProofStatus::Fresh)];
        let proved = CompletionInputs {
            proofs: &proofs,
            ..inputs
        };
        assert_eq!(find_completion_gaps(&proved), []);
    }

    #[test]
    fn nothing_open_means_done() {
        assert_eq!(find_completion_gaps(&CompletionInputs::default()), []);
        let proofs = [proof(ProofStatus::Fresh)];
        let proved = CompletionInputs {
            need: EvidenceNeed::Required,
            proofs: &proofs,
            ..CompletionInputs::default()
        };
        assert_eq!(find_completion_gaps(&proved), []);
    }

    #[test]
    fn every_kind_of_gap_is_found_and_named_with_a_command() {
        let open = |path: &str, is_scenario| OpenNode {
            path: path.to_owned(),
            progress: Progress::Active,
            is_scenario,
        };
        let below = [open("001/one", true), open("001/001a", false)];
        let proofs = [
            proof(ProofStatus::Open),
            proof(ProofStatus::Failed),
            proof(ProofStatus::Stale),
            proof(ProofStatus::NeverFailed),
        ];
        let (needs, reviews) = (["002".to_owned()], ["001/code".to_owned()]);
        let removed = ["001/two".to_owned()];
        let workflows = ["spike".to_owned()];
        let unchanged = [UnchangedIntent {
            milestone: "M-001".to_owned(),
            intent: "CI-001".to_owned(),
            file: "src/a.rs".to_owned(),
            behavior: String::new(),
        }];
        let gaps = find_completion_gaps(&CompletionInputs {
            need: EvidenceNeed::Required,
            proofs: &proofs,
            open_below: &below,
            removed_scenarios: &removed,
            scenario_file: Some("tickets/001-a/tests.md"),
            open_needs: &needs,
            open_reviews: &reviews,
            workflows: &workflows,
            cycle: Some(CycleInput {
                last_step: Some(Cycle::Red),
                untested: None,
                requires_test: false,
            }),
            unchanged_intents: &unchanged,
            missing_tests: &["tests/index.rs".to_owned()],
            removed_children: &["001b".to_owned()],
            removed_needs: &["003".to_owned()],
            skipped_phases: &["scenario-gate"],
            is_untouched: true,
            lacks_scenarios: true,
            asks_for_work: true,
        });
        assert_eq!(gaps.len(), 16, "{gaps:?}");
        for gap in &gaps {
            let command = gap.closing_command("001");
            assert!(
                command.starts_with("tl ") || command.starts_with("git "),
                "{gap:?}"
            );
        }
        let text = describe_gaps("001", &gaps);
        assert!(
            text.starts_with(
                "`001` is not done: scenario `001/one` is open; `001/001a` is active;"
            ) && text.ends_with("; 10 more gaps"),
            "{text}"
        );
        assert_eq!(
            list_closing_commands("001", &gaps),
            [
                "tl focus enter 001/one",
                "tl focus enter 001/001a",
                "git log -p -- tickets/001-a/tests.md   # its text, to write back into the file",
                "tl log 001b   # when it was deleted, to bring it back, or: status: wontfix",
                "tl log 003   # when it was deleted; bring it back, or change `needs:`",
                "tl ticket phase 001 scenario-gate",
            ]
        );
    }

    #[test]
    fn a_cycle_counts_where_no_evidence_is_fresh() {
        let cycle = |last_step, untested, requires_test, proofs: &[_]| {
            find_completion_gaps(&CompletionInputs {
                proofs,
                cycle: Some(CycleInput {
                    last_step,
                    untested,
                    requires_test,
                }),
                ..CompletionInputs::default()
            })
        };
        let fresh = [proof(ProofStatus::Fresh)];
        assert_eq!(
            cycle(Some(Cycle::Red), None, false, &[]),
            [CompletionGap::FailingTest]
        );
        assert_eq!(cycle(Some(Cycle::Red), None, true, &fresh), []);
        assert_eq!(cycle(Some(Cycle::Green), None, true, &[]), []);
        assert_eq!(cycle(None, None, false, &[]), []);
        assert_eq!(cycle(None, None, true, &[]), [CompletionGap::NoCommit]);
        assert_eq!(cycle(Some(Cycle::Green), Some("feat: x"), false, &[]), []);
        assert_eq!(
            cycle(Some(Cycle::Green), Some("feat: x"), true, &fresh),
            [CompletionGap::UntestedCommit {
                subject: "feat: x".to_owned()
            }],
            "evidence does not make up for a test that came after the code"
        );
    }

    #[test]
    fn an_untouched_ticket_is_named_unless_something_proves_it() {
        let untouched = |proofs: &[_], need| {
            find_completion_gaps(&CompletionInputs {
                need,
                proofs,
                is_untouched: true,
                ..CompletionInputs::default()
            })
        };
        let declared = EvidenceNeed::Declared;
        assert_eq!(untouched(&[], declared), [CompletionGap::NoWork]);
        assert_eq!(untouched(&[proof(ProofStatus::Fresh)], declared), []);
        assert_eq!(
            untouched(&[], EvidenceNeed::Required),
            [CompletionGap::NoEvidence],
            "the stronger reason is enough"
        );
    }

    #[test]
    fn evidence_that_cannot_fail_proves_nothing() {
        let gaps = |commands: &[&str], asks_for_work| {
            let fresh = ProofStatus::Fresh;
            let proofs: Vec<_> = commands.iter().map(|run| proof_by(run, fresh)).collect();
            find_completion_gaps(&CompletionInputs {
                proofs: &proofs,
                is_untouched: true,
                asks_for_work,
                ..CompletionInputs::default()
            })
        };
        let vacuous = CompletionGap::VacuousProof {
            condition: "`true` exits with 0".to_owned(),
        };
        assert_eq!(gaps(&["true"], true), [vacuous]);
        assert_eq!(gaps(&["true"], false), []);
        assert_eq!(gaps(&["true", "cargo test"], true), []);
    }

    #[test]
    fn required_evidence_has_to_be_declared() {
        let none = CompletionInputs {
            need: EvidenceNeed::Required,
            ..CompletionInputs::default()
        };
        assert_eq!(find_completion_gaps(&none), [CompletionGap::NoEvidence]);
    }
}
