//! Rebase of operations onto another history: node and operation ids in facts are replaced.
//!
//! Ids are dense numbers, so two working copies that add a node while they do not see each other
//! choose the same one. The later operation gets the next free number, and everything that names it
//! follows: facts, causes of statuses, and records whose key or body holds an id.

use serde_json::Value;

use crate::approval_question::DeclinedQuestion;
use crate::comment::{Comment, comment_key_prefix};
use crate::fact::Fact;
use crate::generation::Generation;
use crate::generation::update::SceneReading;
use crate::ids::{NodeId, OperationId};
use crate::node::{Node, NodeStatus};
use crate::plan_document::DocumentRecord;
use crate::presence::AbsentNode;
use crate::prose::ProseBasis;
use crate::prose_history::ProseCount;
use crate::record::{RecordKey, Recorded};
use crate::session::Session;
use crate::work::claim::Claim;
use crate::work::evidence::Evidence;
use crate::work::focus::Focus;
use crate::work::removed_scenario::RemovedScenario;
use crate::work::stated_completion::StatedCompletion;
use crate::work::tdd::Tdd;
use crate::work::work_level::Assessment;

/// Visits every node and operation id in facts, which may be replaced.
pub trait IdVisitor {
    fn visit_node(&mut self, id: &mut NodeId);
    fn visit_operation(&mut self, id: &mut OperationId);
}

/// Visits every id in the facts, in order.
pub fn visit_fact_ids(facts: &mut [Fact], ids: &mut dyn IdVisitor) {
    for fact in facts {
        visit_ids(fact, ids);
    }
}

fn visit_ids(fact: &mut Fact, ids: &mut dyn IdVisitor) {
    match fact {
        Fact::NodeAdded { node } | Fact::NodeRemoved { node } => visit_node(node, ids),
        Fact::NodeMoved {
            node,
            before,
            after,
        } => {
            ids.visit_node(node);
            before.iter_mut().for_each(|id| ids.visit_node(id));
            after.iter_mut().for_each(|id| ids.visit_node(id));
        }
        Fact::NodeRenamed { node, .. }
        | Fact::ContentChanged { node, .. }
        | Fact::DescriptionChanged { node, .. }
        | Fact::ApprovalChanged { node, .. }
        | Fact::CondemnationChanged { node, .. }
        | Fact::ProgressChanged { node, .. }
        | Fact::BackupWritten { node, .. } => ids.visit_node(node),
        Fact::StandingsChanged { groups } => {
            for group in groups {
                visit_status(&mut group.before, ids);
                visit_status(&mut group.after, ids);
                group.nodes.iter_mut().for_each(|id| ids.visit_node(id));
            }
        }
        Fact::RecordChanged {
            record,
            before,
            after,
        } => {
            for body in [before, after].into_iter().flatten() {
                visit_record_body(&record.kind, body, ids);
            }
            visit_record_key(record, ids);
        }
        Fact::UndoneChanged {
            operation,
            before,
            after,
        } => {
            ids.visit_operation(operation);
            before.iter_mut().for_each(|id| ids.visit_operation(id));
            after.iter_mut().for_each(|id| ids.visit_operation(id));
        }
    }
}

fn visit_node(node: &mut Node, ids: &mut dyn IdVisitor) {
    ids.visit_node(&mut node.id);
    node.parent.iter_mut().for_each(|id| ids.visit_node(id));
    visit_status(&mut node.standing, ids);
}

fn visit_status(status: &mut NodeStatus, ids: &mut dyn IdVisitor) {
    if let Some(cause) = &mut status.cause {
        ids.visit_node(&mut cause.origin);
        ids.visit_operation(&mut cause.operation);
    }
}

/// Visits the ids in a record's key.
fn visit_record_key(record: &mut RecordKey, ids: &mut dyn IdVisitor) {
    let kind = record.kind.as_str();
    let by_node = [
        Claim::KIND,
        Evidence::KIND,
        Tdd::KIND,
        Assessment::KIND,
        RemovedScenario::KIND,
        StatedCompletion::KIND,
        ProseBasis::KIND,
        ProseCount::KIND,
        DeclinedQuestion::KIND,
    ];
    if by_node.contains(&kind) {
        if let Some(id) = visited_node(&record.key, ids) {
            record.key = id.0.to_string();
        }
    } else if [Generation::KIND, SceneReading::KIND].contains(&kind) {
        if let Some(id) = visited_node(&record.key, ids) {
            record.key = Generation::record_key(id);
        }
    } else if kind == Comment::KIND
        && let Some((node, rest)) = record.key.split_once('/')
    {
        // A comment that came as a decision has the decision's id behind the operation.
        let (operation, decision) = match rest.split_once('-') {
            Some((operation, decision)) => (operation, format!("-{decision}")),
            None => (rest, String::new()),
        };
        if let (Ok(operation), Some(node)) = (operation.parse(), visited_node(node, ids)) {
            let mut operation = OperationId(operation);
            ids.visit_operation(&mut operation);
            // The padding that keys of comments have: they are listed in the order of their
            // operations.
            record.key = format!("{}{:012}{decision}", comment_key_prefix(node), operation.0);
        }
    }
}

/// Visits the node id that a key consists of; `None` if it is not a number.
fn visited_node(key: &str, ids: &mut dyn IdVisitor) -> Option<NodeId> {
    let mut id = NodeId(key.parse().ok()?);
    ids.visit_node(&mut id);
    Some(id)
}

/// Visits the ids in a record's body. A body that is not of its type is left as it is: it was written
/// by another version, and the store compares it as it is.
fn visit_record_body(kind: &str, body: &mut Value, ids: &mut dyn IdVisitor) {
    match kind {
        Comment::KIND => edit_body::<Comment>(body, |comment| {
            ids.visit_node(&mut comment.node);
            ids.visit_operation(&mut comment.operation);
        }),
        DeclinedQuestion::KIND => edit_body::<DeclinedQuestion>(body, |declined| {
            ids.visit_node(&mut declined.node);
            ids.visit_operation(&mut declined.operation);
        }),
        // Its key is a place, but the node inside has its numbers.
        AbsentNode::KIND => {
            edit_body::<AbsentNode>(body, |absent| visit_node(&mut absent.node, ids));
        }
        SceneReading::KIND => {
            edit_body::<SceneReading>(body, |reading| ids.visit_node(&mut reading.node));
        }
        Generation::KIND => {
            edit_body::<Generation>(body, |generation| ids.visit_node(&mut generation.node));
        }
        DocumentRecord::KIND => {
            edit_body::<DocumentRecord>(body, |document| ids.visit_node(&mut document.node));
        }
        Session::KIND => edit_body::<Session>(body, |session| {
            ids.visit_node(&mut session.trajectory);
            ids.visit_node(&mut session.cursor);
        }),
        Focus::KIND => edit_body::<Focus>(body, |focus| {
            focus
                .active_root
                .iter_mut()
                .for_each(|id| ids.visit_node(id));
            // The ids are the map's keys, which cannot be changed in place.
            let roots = std::mem::take(&mut focus.roots);
            for (mut root, mut position) in roots {
                ids.visit_node(&mut root);
                ids.visit_node(&mut position.cursor);
                position
                    .visited
                    .iter_mut()
                    .for_each(|id| ids.visit_node(id));
                focus.roots.insert(root, position);
            }
        }),
        _ => {}
    }
}

fn edit_body<T: Recorded>(body: &mut Value, edit: impl FnOnce(&mut T)) {
    let Ok(mut record) = serde_json::from_value::<T>(body.clone()) else {
        return;
    };
    let known = serde_json::to_value(&record).ok();
    edit(&mut record);
    // Only if an id changed: a body of another version may have fields that are not known here.
    if let Ok(edited) = serde_json::to_value(&record)
        && known.as_ref() != Some(&edited)
    {
        *body = edited;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval_question::NoDecision;
    use crate::decision::DecisionId;
    use crate::ids::Principal;
    use crate::record::record_changed_fact;
    use crate::time::Timestamp;

    /// Adds ten to every node, a hundred to every operation.
    struct Shift;

    impl IdVisitor for Shift {
        fn visit_node(&mut self, id: &mut NodeId) {
            id.0 += 10;
        }

        fn visit_operation(&mut self, id: &mut OperationId) {
            id.0 += 100;
        }
    }

    #[test]
    fn a_comment_follows_its_node_and_its_operation() {
        let received = DecisionId::parse_id(&"ab".repeat(20));
        for decision in [None, received] {
            let comment = |node, operation| Comment {
                node: NodeId(node),
                operation: OperationId(operation),
                by: Principal::System,
                at: Timestamp::from_millis(1),
                text: "x".to_owned(),
                decision: decision.clone(),
                carried_at: None,
                place: crate::comment::CommentPlace::default(),
            };
            let fact = |said: &Comment| record_changed_fact(&said.record_key(), None, Some(said));
            let mut facts: Vec<Fact> = fact(&comment(8, 7)).into_iter().collect();
            visit_fact_ids(&mut facts, &mut Shift);
            assert_eq!(
                facts,
                fact(&comment(18, 107)).into_iter().collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_declined_question_follows_its_node_and_its_operation() {
        let declined = |node, operation| DeclinedQuestion {
            node: NodeId(node),
            operation: OperationId(operation),
            version: None,
            how: NoDecision::Declined,
            by: Principal::System,
            at: Timestamp::from_millis(1),
        };
        let fact = |it: &DeclinedQuestion| {
            record_changed_fact(&DeclinedQuestion::record_key(it.node), None, Some(it))
        };
        let mut facts: Vec<Fact> = fact(&declined(8, 7)).into_iter().collect();
        visit_fact_ids(&mut facts, &mut Shift);
        assert_eq!(
            facts,
            fact(&declined(18, 107)).into_iter().collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_focus_follows_its_nodes() {
        let focus = |shift: u32| {
            let mut focus = Focus {
                active_root: Some(NodeId(1 + shift)),
                ..Focus::default()
            };
            focus.roots.insert(
                NodeId(1 + shift),
                crate::work::focus::RootFocus {
                    cursor: NodeId(2 + shift),
                    visited: vec![NodeId(3 + shift)],
                },
            );
            focus
        };
        let fact = |focus: &Focus| record_changed_fact("session", None, Some(focus));
        let mut facts: Vec<Fact> = fact(&focus(0)).into_iter().collect();
        visit_fact_ids(&mut facts, &mut Shift);
        assert_eq!(facts, fact(&focus(10)).into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_session_key_is_not_taken_for_a_node() {
        let mut facts = vec![Fact::RecordChanged {
            record: RecordKey {
                kind: "anchor".to_owned(),
                key: "8".to_owned(),
            },
            before: None,
            after: Some(Value::from("8")),
        }];
        let before = facts.clone();
        visit_fact_ids(&mut facts, &mut Shift);
        assert_eq!(facts, before);
    }
}
