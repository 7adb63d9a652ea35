//! The question about several plans: which they are, and what a person is shown of each.
//!
//! One answer decides all of them ([`crate::decide_plans`]), so the question has every text, or says
//! that something is hidden and cannot be answered with yes.

use std::collections::HashSet;

use domain::approval::{ApprovalRefused, Force};
use domain::approval_question::{QuestionChannel, RenderedQuestion, render_batch_question};
use domain::ids::{Digest32, NodeId};
use domain::node::{Node, Status};
use domain::node_reference::NodeReference;
use domain::ports::Snapshot;
use domain::profile::Profile;
use domain::tree::Tree;

use crate::answer_question::AskedQuestion;
use crate::approval_question::{ApprovalQuestion, CODE_DIGITS, build_question_on, require_text};
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{find_node, find_subtree_root};
use crate::observe::observe_plans;
use crate::plan_warnings::WarningCollector;
use crate::tree_cache::CachedTree;

/// Which plans a decision is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanSelection {
    /// These: an alias, a path, or two words (`chapter 2`) each.
    Named(Vec<String>),
    /// A plan and everything below it that waits for a decision; without a name, every plan.
    Below {
        node: Vec<String>,
        waiting: WaitingPlans,
        /// These are left out, an alias or a path each.
        except: Vec<String>,
    },
}

impl PlanSelection {
    /// Returns the plans that words name; `None` for a single one, which has its own use case.
    #[must_use]
    pub fn from_names(words: &[String], profiles: &[Profile]) -> Option<Self> {
        // `chapter 2` is one plan in two words. What cannot be read is reported by the use case
        // of a single plan.
        let (_, rest) = NodeReference::parse_words(words, profiles).ok()?;
        (!rest.is_empty()).then(|| Self::Named(words.to_owned()))
    }

    /// Returns the command that approves these plans.
    #[must_use]
    pub fn approve_command(&self) -> String {
        let (node, waiting, except) = match self {
            Self::Named(words) => return format!("tl approve {}", words.join(" ")),
            Self::Below {
                node,
                waiting,
                except,
            } => (node, waiting, except),
        };
        let mut command = match node.as_slice() {
            [] => "tl approve --all".to_owned(),
            words => format!("tl approve --below {}", words.join(" ")),
        };
        command.push_str(match waiting {
            WaitingPlans::All => "",
            WaitingPlans::Drafts => " --drafts",
            WaitingPlans::Stale => " --stale",
        });
        for name in except {
            command.push_str(&format!(" --except {name}"));
        }
        command
    }
}

/// Which of the undecided plans are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingPlans {
    All,
    Drafts,
    Stale,
}

impl WaitingPlans {
    fn includes(self, status: Status) -> bool {
        match status {
            Status::Draft => self != Self::Stale,
            Status::RequiresRevalidation => self != Self::Drafts,
            Status::Approved | Status::Invalid => false,
        }
    }
}

/// What is asked about the plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchPurpose {
    Approve,
    /// Renew the approvals of stale plans: a draft has none.
    Keep,
    RequestChanges,
}

impl BatchPurpose {
    /// Whether a yes approves: the parent of each plan has to be approved before.
    fn is_approval(self) -> bool {
        self != Self::RequestChanges
    }

    fn is_possible_for(self, node: &Node) -> bool {
        self != Self::Keep || node.has_approved_text()
    }
}

/// The plans of a selection, without their texts.
#[derive(Clone, Debug, Default)]
pub struct SelectedPlans {
    /// Those above before those below.
    pub plans: Vec<SelectedPlan>,
    /// Plans in the subtree that cannot be approved now, with the reason.
    pub left_out: Vec<LeftOutPlan>,
}

/// A plan of a selection.
#[derive(Clone, Debug)]
pub struct SelectedPlan {
    pub title: Option<String>,
    pub status: Status,
    /// What an answer is bound to.
    pub asked: AskedQuestion,
}

impl SelectedPlans {
    /// Returns what an answer is bound to.
    #[must_use]
    pub fn asked_questions(&self) -> Vec<AskedQuestion> {
        self.plans.iter().map(|plan| plan.asked.clone()).collect()
    }
}

/// What a person is shown before they decide about several plans.
#[derive(Clone, Debug)]
pub struct BatchQuestion {
    /// One for each plan, those above before those below.
    pub questions: Vec<ApprovalQuestion>,
    /// Plans that were named and are approved already.
    pub already_approved: Vec<String>,
    /// Plans in the subtree that cannot be approved now, with the reason.
    pub left_out: Vec<LeftOutPlan>,
}

/// A plan of a subtree that the question is not about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutPlan {
    pub path: String,
    pub reason: String,
}

impl BatchQuestion {
    /// Returns what an answer is bound to.
    #[must_use]
    pub fn asked_questions(&self) -> Vec<AskedQuestion> {
        self.questions.iter().map(AskedQuestion::from).collect()
    }

    /// Returns the code of the question: another text, parent, person or plan has another one.
    #[must_use]
    pub fn question_code(&self) -> String {
        let codes: Vec<String> = self
            .questions
            .iter()
            .map(|question| question.digest_identity().to_string())
            .collect();
        let mut code = Digest32::of_bytes(codes.join("\n").as_bytes()).to_string();
        code.truncate(CODE_DIGITS);
        code
    }

    /// Renders the question for a channel. A change of a parent is shown once, with the first plan
    /// that it touches.
    #[must_use]
    pub fn render_for(&self, channel: QuestionChannel) -> RenderedQuestion {
        let parts: Vec<_> = self
            .questions
            .iter()
            .map(ApprovalQuestion::to_parts)
            .collect();
        render_batch_question(&parts, channel)
    }
}

/// Selects plans for the acting principal without reading their texts: nobody is shown them, and
/// comparing a thousand plans with their parents takes longer than deciding about them.
///
/// # Errors
/// As [`build_batch_question`].
pub fn select_plans(
    ctx: &Context<'_>,
    selection: &PlanSelection,
    purpose: BatchPurpose,
) -> Result<SelectedPlans, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let found = find_plans(ctx, &*state, &tree, selection, purpose)?;
    let select = |node: &&Node| {
        let path = tree.alias_path(node);
        let parent = tree.parent_of(node);
        Ok(SelectedPlan {
            title: node.description.title.clone(),
            status: node.status(),
            asked: AskedQuestion {
                version: require_text(node, &path)?,
                // No text is shown, and neither is what speaks against it.
                overrides: Force::No,
                parent_version: parent.and_then(|parent| parent.content.version_hash()),
                asked: ctx.actor.clone(),
                path,
            },
        })
    };
    Ok(SelectedPlans {
        plans: found
            .plans
            .iter()
            .map(select)
            .collect::<Result<_, Failure>>()?,
        left_out: found.left_out,
    })
}

/// Builds the question about several plans for the acting person.
///
/// # Errors
/// When a node is unknown, a named plan has no text or its parent is neither approved nor among them,
/// or the state cannot be read.
pub fn build_batch_question(
    ctx: &Context<'_>,
    selection: &PlanSelection,
    purpose: BatchPurpose,
) -> Result<BatchQuestion, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let part = BatchPart {
        without: &[],
        most: usize::MAX,
    };
    build_part(ctx, &*state, &tree, selection, purpose, part).map(|(found, _)| found)
}

/// The part of a question that fits on a page.
#[derive(Clone, Copy, Debug)]
pub struct BatchPart<'p> {
    /// Paths of plans to leave out.
    pub without: &'p [&'p str],
    pub most: usize,
}

/// Builds the first part of the question, and returns it with the number of plans of the whole one, from
/// a cached tree that is up to date. Only the texts of that part are read.
///
/// # Errors
/// As [`build_batch_question`].
pub fn build_batch_part(
    ctx: &Context<'_>,
    known: &CachedTree,
    selection: &PlanSelection,
    purpose: BatchPurpose,
    part: BatchPart<'_>,
) -> Result<(BatchQuestion, usize), Failure> {
    let state = ctx.store.begin_read()?;
    build_part(ctx, &*state, &known.tree, selection, purpose, part)
}

fn build_part(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    selection: &PlanSelection,
    purpose: BatchPurpose,
    part: BatchPart<'_>,
) -> Result<(BatchQuestion, usize), Failure> {
    let found = find_plans(ctx, state, tree, selection, purpose)?;
    let is_wanted =
        |node: &&&Node| part.without.is_empty() || !part.without.contains(&&*tree.alias_path(node));
    let wanted: Vec<&&Node> = found.plans.iter().filter(is_wanted).collect();
    let mut warnings = WarningCollector::new(ctx);
    let questions = wanted
        .iter()
        .take(part.most)
        .map(|node| build_question_on(ctx, state, node, &mut warnings));
    let question = BatchQuestion {
        questions: questions.collect::<Result<_, _>>()?,
        already_approved: found.already_approved,
        left_out: found.left_out,
    };
    Ok((question, wanted.len()))
}

/// The plans of a selection in a tree.
#[derive(Default)]
struct FoundPlans<'t> {
    /// In the order of the tree.
    plans: Vec<&'t Node>,
    already_approved: Vec<String>,
    left_out: Vec<LeftOutPlan>,
}

fn find_plans<'t>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &'t Tree,
    selection: &PlanSelection,
    purpose: BatchPurpose,
) -> Result<FoundPlans<'t>, Failure> {
    let (node, waiting, except) = match selection {
        PlanSelection::Named(words) => return find_named(ctx, state, tree, words, purpose),
        PlanSelection::Below {
            node,
            waiting,
            except,
        } => (node, *waiting, except),
    };
    let mut without = HashSet::new();
    for name in except {
        without.extend(find_subtree_root(ctx, state, std::slice::from_ref(name))?);
    }
    let nodes = match find_subtree_root(ctx, state, node)? {
        Some(top) => tree.subtree_preorder(top),
        None => tree.all_preorder(),
    };
    Ok(find_waiting(tree, nodes, waiting, purpose, &without))
}

/// Finds the named plans.
fn find_named<'t>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &'t Tree,
    words: &[String],
    purpose: BatchPurpose,
) -> Result<FoundPlans<'t>, Failure> {
    let mut named: HashSet<NodeId> = HashSet::new();
    let mut rest = words;
    while !rest.is_empty() {
        let (id, after) = find_node(ctx, state, rest)?;
        named.insert(id);
        rest = after;
    }
    let mut found = FoundPlans::default();
    // In the order of the tree, not of the words: a parent has to be shown and decided before its
    // children.
    for node in tree.all_preorder() {
        if !named.contains(&node.id) {
            continue;
        }
        if purpose.is_approval() {
            if node.status() == Status::Approved {
                found.already_approved.push(tree.alias_path(node));
                continue;
            }
            // Not asked for nothing: the answer would be refused.
            if let Some(parent) = find_open_parent(tree, node, &named) {
                return Err(ApprovalRefused::ParentNotApproved {
                    node: tree.alias_path(node),
                    parent: tree.alias_path(parent),
                    parent_file: parent.path.clone(),
                    status: parent.status(),
                }
                .into());
            }
        }
        found.plans.push(node);
    }
    Ok(found)
}

/// Counts the undecided plans that can be decided together, those that need no approval among them.
#[must_use]
pub fn count_undecided(known: &CachedTree) -> usize {
    let nodes = known.tree.all_preorder();
    let none = HashSet::new();
    let found = find_waiting(
        &known.tree,
        nodes,
        WaitingPlans::All,
        BatchPurpose::Approve,
        &none,
    );
    found.plans.len()
}

/// Finds the undecided plans of a subtree that can be decided, and reports the others.
fn find_waiting<'t>(
    tree: &'t Tree,
    nodes: Vec<&'t Node>,
    waiting: WaitingPlans,
    purpose: BatchPurpose,
    without: &HashSet<NodeId>,
) -> FoundPlans<'t> {
    let mut selected: HashSet<NodeId> = HashSet::new();
    let mut found = FoundPlans::default();
    // What a session noted of its way is no planned work, and nobody decides about it.
    let planned = |node: &&Node| node.profile != domain::trail::PROFILE;
    for node in nodes.into_iter().filter(planned) {
        let is_meant = (waiting == WaitingPlans::All || waiting.includes(node.status()))
            && node.status() != Status::Approved
            && purpose.is_possible_for(node)
            && !without.contains(&node.id);
        let reason = if !is_meant {
            continue;
        } else if node.content.version_hash().is_none() {
            "it has no text".to_owned()
        } else if node.status() == Status::Invalid {
            // Not overruled by a decision about many: approving it needs `--force` for that plan.
            "it was rejected".to_owned()
        } else if let Some(parent) =
            find_open_parent(tree, node, &selected).filter(|_| purpose.is_approval())
        {
            format!(
                "its parent `{}` is `{}`",
                tree.alias_path(parent),
                parent.status()
            )
        } else {
            selected.insert(node.id);
            found.plans.push(node);
            continue;
        };
        found.left_out.push(LeftOutPlan {
            path: tree.alias_path(node),
            reason,
        });
    }
    found
}

/// Returns the parent of a plan if it is neither approved nor decided with it.
fn find_open_parent<'t>(
    tree: &'t Tree,
    node: &Node,
    selected: &HashSet<NodeId>,
) -> Option<&'t Node> {
    let parent = tree.parent_of(node)?;
    let is_open = parent.status() != Status::Approved && !selected.contains(&parent.id);
    is_open.then_some(parent)
}
