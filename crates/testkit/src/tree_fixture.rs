//! Trees written as small text: one node a line, indented, with its status.
//!
//! ```text
//! act-1 approved
//!   chapter-01 draft
//!     scene-0101 requires-revalidation
//! ```

use domain::approval::Approval;
use domain::ids::{NodeId, Principal, VersionHash};
use domain::node::{Content, Description, Node, NodeStatus, ParentVersion, Progress, Status};
use domain::profile::built_in_profile;
use domain::time::Timestamp;
use domain::tree::Tree;
use domain::version::canonical_hash;

/// Returns a moment for fixtures.
#[must_use]
pub fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_770_000_000_000 + seconds * 1000)
}

/// Returns a draft below `parent` whose text is `text`.
#[must_use]
pub fn node(id: u32, parent: Option<&Node>, alias: &str, text: &str) -> Node {
    let profile =
        built_in_profile("story").unwrap_or_else(|| unreachable!("the story profile is built in"));
    let read = profile.levels.iter().find_map(|level| {
        level
            .read_alias(alias)
            .ok()
            .filter(|read| read.alias == alias)
            .map(|read| (level.name.clone(), read))
    });
    let (level, order) = read.map_or_else(
        || ("act".to_owned(), 0),
        |(level, read)| (level, i64::from(read.number.unwrap_or(0))),
    );
    Node {
        id: NodeId(id),
        parent: parent.map(|parent| parent.id),
        profile: "story".to_owned(),
        level,
        alias: alias.to_owned(),
        order,
        path: Some(format!("{alias}.md")),
        description: Description {
            title: Some(alias.to_owned()),
            ..Description::default()
        },
        content: Content::Text {
            version: VersionHash::of_bytes(text.as_bytes()),
            canonical: canonical_hash(text),
            basis: None,
        },
        approval: None,
        condemnation: None,
        progress: Progress::Pending,
        standing: NodeStatus::without_cause(Status::Draft),
        created_at: timestamp(0),
        updated_at: timestamp(0),
    }
}

/// Reads a tree. An `approved` node has an approval of its present text below its present parent;
/// the other words are taken as the recorded status.
///
/// # Panics
/// When the text is no tree.
#[must_use]
pub fn parse_tree(text: &str) -> Tree {
    let mut nodes: Vec<Node> = Vec::new();
    let mut above: Vec<(usize, usize)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        let mut words = line.split_whitespace();
        let alias = words.next().expect("a line names a node");
        let word = words.next().unwrap_or("draft");
        let status = Status::ALL
            .into_iter()
            .find(|status| status.as_str() == word)
            .expect("a known status");
        while above.last().is_some_and(|(known, _)| *known >= indent) {
            above.pop();
        }
        let parent = above.last().map(|(_, index)| nodes[*index].clone());
        let id = u32::try_from(nodes.len()).expect("few nodes") + 1;
        let mut node = node(id, parent.as_ref(), alias, &format!("# {alias}\n"));
        node.standing = NodeStatus::without_cause(status);
        if status == Status::Approved {
            node.approval = approval_of(
                &node,
                parent
                    .as_ref()
                    .and_then(|parent| parent.content.as_parent_version()),
            );
        }
        above.push((indent, nodes.len()));
        nodes.push(node);
    }
    Tree::new(nodes)
}

fn approval_of(node: &Node, parent: Option<ParentVersion>) -> Option<Approval> {
    Some(Approval::from_record(
        node.content.version_hash()?,
        node.content.canonical_hash()?,
        parent,
        Principal::Human("test".to_owned()),
        timestamp(0),
        Vec::new(),
    ))
}

/// Writes a tree in the form [`parse_tree`] reads.
#[must_use]
pub fn render_tree(tree: &Tree) -> String {
    tree.all_preorder()
        .into_iter()
        .map(|node| {
            format!(
                "{}{} {}\n",
                "  ".repeat(tree.ancestors(node).len()),
                node.alias,
                node.status()
            )
        })
        .collect()
}
