//! Check the state: its integrity, and whether it matches the plan files. Changes nothing.
//!
//! Repairing is `repair_state`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use domain::front_matter::parse_front_matter;
use domain::ids::NodeId;
use domain::node::{Content, Node};
use domain::observation::{NewNode, ObservedContent, OwningNode};
use domain::ports::{HistoryState, Snapshot};
use domain::profile::parent_folder;
use domain::prose::find_unreadable_target;
use domain::record;
use domain::secrets::{MaskedSecret, MaskedText, render_secret_lines, secret_lines};
use domain::shell_line::quote_word;
use domain::status::{StatusInputs, StatusRules};
use domain::tree::Tree;
use domain::tree_audit::{self, AuditFinding, AuditFindingKind, duplicate_id_finding};
use serde::Serialize;

use crate::context::{Context, Notice};
use crate::decisions::{DecisionChanges, list_vanished_decisions};
use crate::failure::Failure;
use crate::precise_cascade::PreciseCascade;
use crate::record_policy::resolve_judging_policy;
use crate::scan::{ScanResult, list_misplaced_beside, report_misplaced_at_root, scan_every_text};
use crate::stated_completion::list_unproved_completions;
use crate::working_copy::{
    CopyDifference, DifferenceKind, classify_sightings, describe_sightings, is_state_shared,
};

/// Outcome of a check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckOutcome {
    pub ok: bool,
    pub nodes: usize,
    pub findings: Vec<FindingView>,
}

impl CheckOutcome {
    /// Adds the findings of the edge.
    pub fn add_findings(&mut self, findings: Vec<FindingView>) {
        self.ok &= findings.is_empty();
        self.findings.extend(findings);
    }
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub struct FindingView {
    pub kind: String,
    pub node: Option<String>,
    pub message: String,
    pub next_steps: Vec<String>,
}

impl From<AuditFinding> for FindingView {
    fn from(finding: AuditFinding) -> Self {
        Self {
            kind: finding.kind.as_str().to_owned(),
            node: finding.node,
            message: finding.message,
            next_steps: finding.next_steps,
        }
    }
}

/// Checks everything.
///
/// # Errors
/// When the state cannot even be read.
pub fn check_state(ctx: &Context<'_>) -> Result<CheckOutcome, Failure> {
    // Opening a snapshot replays what a killed process left in the journal; only then is it known
    // which mirror files are missing.
    drop(ctx.store.begin_read()?);
    // Deferred mirror files are not a finding.
    ctx.store.finish_mirror();
    let state = ctx.store.begin_read()?;
    let (tree, decisions, mut findings) = compare_with_files(ctx, &*state)?;
    let precise = PreciseCascade::new(ctx, &*state);
    let moved = |child: &StatusInputs| precise.is_relevant_change(child);
    let own = tree_audit::audit_tree(
        &tree,
        ctx.profiles,
        ctx.policy.cascade_max_depth,
        StatusRules {
            approval: resolve_judging_policy(ctx, &*state, &[])?,
            moved: &moved,
        },
    );
    findings.extend(own);
    findings.extend(find_vanished_decisions(ctx, &*state, &decisions)?);
    findings.extend(find_unproved_completions(ctx, &*state)?);
    // A store gives one snapshot at a time, and its integrity check opens its own. The tree goes with
    // it: at 50,000 nodes each copy of it takes tens of megabytes.
    let nodes = tree.len();
    drop((state, tree));
    for found in ctx.store.verify_integrity()? {
        findings.push(AuditFinding {
            kind: AuditFindingKind::Store(found.kind.as_str()),
            node: None,
            message: found.message,
            next_steps: vec!["tl state repair".to_owned()],
        });
    }
    findings.extend(find_untrusted(ctx));
    Ok(CheckOutcome {
        // A secret in a user's own file is theirs to remove; the state itself is sound.
        ok: findings.iter().all(|finding| {
            matches!(
                finding.kind,
                // Who finished a ticket elsewhere may know that it is done.
                AuditFindingKind::SecretInPlan
                    | AuditFindingKind::CopyDiffers
                    | AuditFindingKind::UnprovedCompletion
            )
        }),
        nodes,
        findings: findings.into_iter().map(FindingView::from).collect(),
    })
}

/// Returns the decisions whose files were deleted.
fn find_vanished_decisions(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    changes: &DecisionChanges,
) -> Result<Vec<AuditFinding>, Failure> {
    let vanished = list_vanished_decisions(ctx, state, changes)?.into_iter();
    Ok(vanished
        .map(|decision| AuditFinding {
            kind: AuditFindingKind::DecisionGone,
            node: None,
            message: format!("the file of a decision made here is gone: {decision}"),
            next_steps: vec!["tl decisions restore".to_owned()],
        })
        .collect())
}

/// Returns the nodes that are complete by a file that came with git alone.
fn find_unproved_completions(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<AuditFinding>, Failure> {
    let unproved = list_unproved_completions(ctx, state)?.into_iter();
    Ok(unproved
        .map(|path| AuditFinding {
            kind: AuditFindingKind::UnprovedCompletion,
            message: format!(
                "`{path}` came finished with git; no decision or commit here shows that it is done"
            ),
            next_steps: vec![
                format!("tl progress {path} active   # to do it here"),
                format!("tl evidence propose {path}   # a proof that runs on all machines"),
            ],
            node: Some(path),
        })
        .collect())
}

/// Returns the decisions a person has to make before policy and history can be trusted again.
fn find_untrusted(ctx: &Context<'_>) -> Vec<AuditFinding> {
    let history = ctx
        .store
        .history_state()
        .describe_problem()
        .map(|message| AuditFinding {
            kind: AuditFindingKind::HistoryChanged,
            node: None,
            message,
            next_steps: HistoryState::NEXT_STEPS.map(str::to_owned).to_vec(),
        });
    let policy = ctx.waiting_policy.iter().map(|change| AuditFinding {
        kind: AuditFindingKind::PolicyNotAccepted,
        node: None,
        message: format!(
            "the project's files are looser than the policy in force, which has no effect: {change}"
        ),
        next_steps: vec![
            "tl policy accept   # in your own terminal; or change config.toml back".to_owned(),
        ],
    });
    history.into_iter().chain(policy).collect()
}

/// Compares the recorded state with the files, without recording anything. Also returns every node, and the
/// decisions that came or went.
fn compare_with_files(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<(Tree, DecisionChanges, Vec<AuditFinding>), Failure> {
    // Read at once: nearly no version is masked, and a query for each takes longer than its text.
    let masked: HashMap<String, MaskedText> =
        record::read_records(state, "")?.into_iter().collect();
    let mut texts = InspectedTexts::default();
    // Every file is read whatever its stamp: a check that trusted the stamps would miss a change
    // that kept size and mtime.
    let mut seen = scan_every_text(ctx, state, &mut |node, text| {
        let version = node.content.version_hash();
        // What is stored of a masked version is another text.
        if version.is_some_and(|version| !masked.contains_key(&version.to_string())) {
            texts.inspect_text(node.id, secret_lines(text), text);
        }
    })?;
    let tree = load_tree(state, std::mem::take(&mut seen.nodes))?;
    let mut findings = Vec::new();
    let is_shared = is_state_shared(ctx, state)?;
    if is_shared {
        findings.extend(describe_copy(state, &seen)?);
    }
    // A working copy of a shared state may differ from it; that is no fault of the state.
    for sighting in seen.sightings.iter().filter(|_| !is_shared) {
        match &sighting.place {
            OwningNode::New(NewNode { path, alias, .. }) => {
                findings.push(unrecorded_file_finding(path.as_deref().unwrap_or(alias)));
            }
            OwningNode::Returned(node) => {
                findings.push(unrecorded_file_finding(
                    node.path.as_deref().unwrap_or(&node.alias),
                ));
            }
            OwningNode::Known(id) => findings.extend(
                tree.get(*id)
                    .map(|node| describe_difference(&tree, node, &sighting.found)),
            ),
        }
    }
    report_misplaced_plans(ctx, &tree);
    // The scan reports these as notices; in a check they are findings, and must not be printed
    // twice.
    for noticed in ctx.take_notices() {
        match noticed {
            Notice::Misplaced { path, why } => findings.push(AuditFinding {
                kind: AuditFindingKind::Misplaced,
                node: None,
                message: format!("`{path}`: {why}"),
                next_steps: vec![format!("move or rename {path}")],
            }),
            Notice::NotAtItsPlace { path, expected } => findings.push(AuditFinding {
                kind: AuditFindingKind::Misplaced,
                node: None,
                message: format!("`{path}` looks like a plan, but its path should be `{expected}`"),
                next_steps: vec![format!("tl move {}", quote_word(&path))],
            }),
            Notice::Duplicate { label, path, other } => {
                findings.push(duplicate_id_finding(&label, &path, &other));
            }
            Notice::NotADecision { path, why } => findings.push(AuditFinding {
                kind: AuditFindingKind::DecisionDamaged,
                node: None,
                message: format!("`{path}` does not count as a decision: {why}"),
                next_steps: vec![format!(
                    "git checkout -- {}   # or delete it",
                    quote_word(&path)
                )],
            }),
            Notice::Unavailable { path, why } => findings.push(AuditFinding {
                kind: AuditFindingKind::FileUnavailable,
                node: None,
                message: format!(
                    "`{path}` cannot be read now: {why}; what was known of it still counts"
                ),
                next_steps: vec![format!("make `{path}` readable, then: tl check")],
            }),
            // Kept as a notice for the edge, which shows what is not a finding.
            other => ctx.push_notice(other),
        }
    }
    for node in tree.all_preorder() {
        if !texts.inspected.contains(&node.id) {
            inspect_stored_text(state, &masked, node, &mut texts);
        }
        if let Some(problems) = texts.problems.get(&node.id) {
            let profile = ctx.find_profile(&node.profile);
            let has_prose =
                profile.is_some_and(|it| it.levels.iter().any(|it| it.output.is_some()));
            findings.extend(problems.describe(&tree, node, has_prose));
        }
    }
    Ok((tree, seen.decisions, findings))
}

/// Returns the tree of the scanned nodes and of those that a scan leaves out.
fn load_tree(state: &dyn Snapshot, scanned: Rc<Vec<Node>>) -> Result<Tree, Failure> {
    let profiles: BTreeSet<&str> = scanned.iter().map(|node| node.profile.as_str()).collect();
    let others = state.nodes_outside(&profiles.into_iter().collect::<Vec<_>>())?;
    // Not read a second time: at 50,000 nodes that is another 40 megabytes.
    let scanned = take_in_order(Rc::unwrap_or_clone(scanned));
    Ok(Tree::new(scanned.chain(others)))
}

/// Returns nodes in order and frees their room meanwhile: list and tree of 50,000 have 35 MB each.
fn take_in_order(mut nodes: Vec<Node>) -> impl Iterator<Item = Node> {
    const NODES_PER_RELEASE: usize = 4_096;
    nodes.reverse();
    std::iter::from_fn(move || {
        let node = nodes.pop();
        if nodes.len().is_multiple_of(NODES_PER_RELEASE) {
            nodes.shrink_to_fit();
        }
        node
    })
}

/// Reports what looks like a plan beside the folders of plans. The scan does so for plans without a
/// parent; the folder of the project changes too often for it.
fn report_misplaced_plans(ctx: &Context<'_>, tree: &Tree) {
    report_misplaced_at_root(ctx);
    for node in tree.nodes().filter(|node| node.parent.is_some()) {
        let profile = ctx.find_profile(&node.profile);
        let has_below = profile.is_some_and(|it| it.levels_under(&node.level).next().is_some());
        let Some(path) = node.path.as_deref().filter(|_| has_below) else {
            continue;
        };
        for (path, expected) in list_misplaced_beside(ctx, parent_folder(path)) {
            ctx.push_notice(Notice::NotAtItsPlace { path, expected });
        }
    }
}

fn unrecorded_file_finding(file: &str) -> AuditFinding {
    AuditFinding {
        kind: AuditFindingKind::NotRecorded,
        node: None,
        message: format!("`{file}` is not recorded yet"),
        next_steps: vec!["tl state sync-hashes".to_owned()],
    }
}

/// Describes how this working copy differs from a shared state.
fn describe_copy(state: &dyn Snapshot, seen: &ScanResult) -> Result<Vec<AuditFinding>, Failure> {
    let kinds = classify_sightings(state, seen)?;
    let differences = describe_sightings(state, seen, &kinds)?;
    Ok(differences
        .into_iter()
        .map(|CopyDifference { node, kind, file }| AuditFinding {
            kind: AuditFindingKind::CopyDiffers,
            message: format!(
                "`{}` is {} in your working copy; the team's text counts",
                file.as_deref().unwrap_or(&node),
                kind.as_str()
            ),
            next_steps: vec![match kind {
                DifferenceKind::Outdated | DifferenceKind::Missing => "git pull".to_owned(),
                _ => format!("tl submit {node}"),
            }],
            node: Some(node),
        })
        .collect())
}

/// Describes how a plan file differs from what is recorded of it.
fn describe_difference(tree: &Tree, node: &Node, found: &ObservedContent) -> AuditFinding {
    let path = tree.alias_path(node);
    let file = node.path.as_deref().unwrap_or_default();
    let (kind, message) = match (found, &node.content) {
        (ObservedContent::Missing, _) if file.is_empty() => (
            AuditFindingKind::FileMissing,
            format!("`{path}` is gone from its file"),
        ),
        (ObservedContent::Missing, _) => (
            AuditFindingKind::FileMissing,
            format!("the plan file of `{path}` is missing: `{file}`"),
        ),
        (ObservedContent::Unreadable { why }, _) => (
            AuditFindingKind::FileUnreadable,
            format!("the plan file of `{path}` cannot be read: {why}"),
        ),
        (ObservedContent::Text { version, .. }, Content::Text { version: known, .. }) => (
            AuditFindingKind::HashMismatch,
            format!(
                "`{path}` was recorded as {}, but `{file}` is {}",
                known.short_hex(),
                version.short_hex()
            ),
        ),
        (ObservedContent::Text { version, .. }, _) => (
            AuditFindingKind::HashMismatch,
            format!("`{path}` has a plan file again: {}", version.short_hex()),
        ),
    };
    AuditFinding {
        kind,
        node: Some(path),
        message,
        next_steps: vec!["tl state sync-hashes".to_owned()],
    }
}

/// What was found in the texts of plans.
#[derive(Default)]
struct InspectedTexts {
    inspected: HashSet<NodeId>,
    problems: HashMap<NodeId, TextProblems>,
}

/// Problems in the text of a plan.
struct TextProblems {
    secrets: Vec<MaskedSecret>,
    front_matter: Option<String>,
    /// A `target` that is not a number of words.
    target: Option<String>,
}

impl InspectedTexts {
    fn inspect_text(&mut self, node: NodeId, secrets: Vec<MaskedSecret>, text: &str) {
        self.inspected.insert(node);
        let front_matter = parse_front_matter(text).problem;
        let front_matter = front_matter.map(|problem| problem.to_string());
        let target = find_unreadable_target(text);
        if !secrets.is_empty() || front_matter.is_some() || target.is_some() {
            let problems = TextProblems {
                secrets,
                front_matter,
                target,
            };
            self.problems.insert(node, problems);
        }
    }
}

/// Inspects the stored text of a plan whose file has another one.
fn inspect_stored_text(
    state: &dyn Snapshot,
    masked: &HashMap<String, MaskedText>,
    node: &Node,
    texts: &mut InspectedTexts,
) {
    let Some(version) = node.content.version_hash() else {
        return;
    };
    // A text that cannot be read is reported by the integrity check.
    let text = state.load_text(version).ok().flatten();
    let secrets: Vec<MaskedSecret> = match masked.get(&version.to_string()) {
        Some(masked) => masked.secrets.clone(),
        // Stored by a version without masking: the text itself is searched.
        None => text.as_deref().map(secret_lines).unwrap_or_default(),
    };
    texts.inspect_text(node.id, secrets, text.as_deref().unwrap_or_default());
}

impl TextProblems {
    fn describe(&self, tree: &Tree, node: &Node, has_prose: bool) -> Vec<AuditFinding> {
        let mut findings = Vec::new();
        if let (false, Some(file)) = (self.secrets.is_empty(), &node.path) {
            let lines = render_secret_lines(&self.secrets);
            findings.push(AuditFinding {
                kind: AuditFindingKind::SecretInPlan,
                node: Some(tree.alias_path(node)),
                message: format!(
                    "`{file}` holds a secret: {lines}; new stored copies are masked, the file is not"
                ),
                next_steps: vec![
                    format!("take it out of `{file}`, and revoke it if the file was ever shared"),
                    "tl state secret scan   # whether older history holds it".to_owned(),
                ],
            });
        }
        if let Some(problem) = &self.front_matter {
            findings.push(AuditFinding {
                kind: AuditFindingKind::FrontMatter,
                node: Some(tree.alias_path(node)),
                message: format!(
                    "front matter of `{}`, {problem}",
                    node.path.as_deref().unwrap_or_default()
                ),
                next_steps: vec!["fix the lines between the two `---`".to_owned()],
            });
        }
        // Elsewhere the key may mean anything.
        if let Some(target) = self.target.as_ref().filter(|_| has_prose) {
            let path = tree.alias_path(node);
            findings.push(AuditFinding {
                kind: AuditFindingKind::FrontMatter,
                message: format!(
                    "`target: {target}` of `{path}` is not a number of words, and does not count"
                ),
                next_steps: vec!["write it as `target: 1500` or `target: 90k`".to_owned()],
                node: Some(path),
            });
        }
        findings
    }
}
