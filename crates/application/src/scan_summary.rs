//! One-line summary of observed changes, for the log and for notices.

use std::collections::{BTreeSet, HashMap};

use domain::duplicate_ids::id_of_alias;
use domain::fact::Fact;
use domain::ids::NodeId;
use domain::node::Content;
use domain::text::count_with_noun;
use domain::tree::Tree;

use crate::scan::ScanResult;

/// Maximum number of plans named per kind of change.
const MAX_NAMED_PLANS: usize = 3;

/// Returns a one-line summary of the changes.
pub(crate) fn summarise_changes(tree: &Tree, seen: &ScanResult, facts: &[Fact]) -> String {
    let name = |id: &NodeId| {
        tree.get(*id)
            .map_or_else(|| id.to_string(), |node| tree.alias_path(node))
    };
    let mut parts: Vec<(&str, Vec<String>)> = [
        "new",
        "back",
        "moved",
        "relabelled",
        "changed",
        "missing",
        "unreadable",
        "not on this branch",
    ]
    .map(|word| (word, Vec::new()))
    .to_vec();
    let back: BTreeSet<NodeId> = seen
        .returned
        .iter()
        .map(|returned| returned.absent.node.id)
        .collect();
    let absent: HashMap<NodeId, &str> = seen
        .absent
        .iter()
        .map(|plan| (plan.node.id, plan.name.as_str()))
        .collect();
    for fact in facts {
        let (group, what) = match fact {
            Fact::NodeAdded { node } if back.contains(&node.id) => (1, node.alias.clone()),
            Fact::NodeAdded { node } => (0, node.alias.clone()),
            Fact::NodeRenamed {
                node,
                before,
                after,
            } => {
                // The tree has the nodes with other texts; a file that was only moved is none of
                // them.
                let was = tree.get(*node).map(|node| tree.alias_path(node));
                let was = was.unwrap_or_else(|| before.alias.clone());
                let is_same_id = id_of_alias(&before.alias) == id_of_alias(&after.alias);
                match before.alias == after.alias {
                    true => (2, was),
                    false => (
                        2 + usize::from(is_same_id),
                        format!("{was} to {}", after.alias),
                    ),
                }
            }
            Fact::ContentChanged { node, after, .. } => match after {
                Content::Text { .. } => (4, name(node)),
                Content::Missing => (5, name(node)),
                Content::Unreadable { .. } => (6, name(node)),
            },
            Fact::DescriptionChanged { node, .. } | Fact::NodeMoved { node, .. } => (4, name(node)),
            Fact::NodeRemoved { node } => {
                let name = absent.get(&node.id).copied().unwrap_or(&node.alias);
                (7, name.to_owned())
            }
            _ => continue,
        };
        // A changed plan often has two facts (text and title); it is listed once.
        if group == 0 || parts[group].1.last() != Some(&what) {
            parts[group].1.push(what);
        }
    }
    let words: Vec<String> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(word, names)| match names.len() {
            1..=MAX_NAMED_PLANS => format!("{word}: {}", names.join(", ")),
            more => {
                format!(
                    "{word}: {}, … ({})",
                    names.first().map_or("", String::as_str),
                    count_with_noun(more, "plan", "plans")
                )
            }
        })
        .collect();
    words.join("; ")
}
