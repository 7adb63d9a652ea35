//! Lookup of absent nodes, and what a user is told about one.

use domain::ids::NodeId;
use domain::node::Node;
use domain::ports::{Snapshot, StoreFault};
use domain::presence::AbsentNode;
use domain::record::read_records;
use domain::shell_line::quote_word;

use crate::context::Context;
use crate::failure::Failure;

/// Returns the absent node with that alias or path of aliases; the one seen last, if several are.
pub(crate) fn find_absent_by_name(
    state: &dyn Snapshot,
    name: &str,
) -> Result<Option<(String, AbsentNode)>, StoreFault> {
    let absent = read_records::<AbsentNode>(state, "")?;
    Ok(absent
        .into_iter()
        .filter(|(_, absent)| absent.is_named(name) || absent.node.path.as_deref() == Some(name))
        .max_by_key(|(_, absent)| absent.since))
}

/// Returns the absent node with that id.
pub(crate) fn find_absent_by_id(
    state: &dyn Snapshot,
    id: NodeId,
) -> Result<Option<AbsentNode>, StoreFault> {
    let absent = read_records::<AbsentNode>(state, "")?;
    Ok(absent
        .into_iter()
        .map(|(_, absent)| absent)
        .find(|absent| absent.node.id == id))
}

/// Returns a node that is gone from its file, while the node above it is here: what was at it is at that
/// node.
pub(crate) fn find_gone_item(state: &dyn Snapshot, id: NodeId) -> Result<Option<Node>, StoreFault> {
    let absent = find_absent_by_id(state, id)?.map(|absent| absent.node);
    let Some(node) = absent.filter(|node| node.path.is_none()) else {
        return Ok(None);
    };
    let above = node
        .parent
        .map(|parent| state.load_node(parent))
        .transpose()?;
    Ok(above.flatten().map(|_| node))
}

/// Describes where an absent node is, and names the command that brings it back.
pub(crate) fn describe_absence(ctx: &Context<'_>, absent: &AbsentNode) -> (String, String) {
    let name = &absent.name;
    if let (Some(archive), Some(path)) = (&absent.archive, &absent.node.path) {
        let what = format!("`{name}` is archived in {archive}, and its history is kept");
        let folder = domain::profile::parent_folder(path);
        let (from, to) = (quote_word(archive), quote_word(folder));
        return (what, format!("git mv {from} {to}   # takes it back"));
    }
    let here = ctx.git.current_branch();
    match &absent.branch {
        Some(branch) if Some(branch) != here.as_ref() => {
            let here = here.map_or_else(String::new, |here| format!(" ({here})"));
            let what = format!(
                "`{name}` is not on this branch{here}: it was last seen on {branch}, and its state is kept"
            );
            (what, format!("git switch {}", quote_word(branch)))
        }
        // It went without a checkout.
        _ => {
            let what = format!(
                "`{name}` is not in the working tree: its file was stashed or removed, and its state is kept"
            );
            match absent.node.path {
                Some(_) => {
                    let step = format!("git stash pop, or tl restore {name} -1 if it was deleted");
                    (what, step)
                }
                // Part of a file that is here.
                None => (
                    format!("`{name}` is not in its file any more, and its state is kept"),
                    "git stash pop, or write it back into its file".to_owned(),
                ),
            }
        }
    }
}

/// Builds the error for a command about an absent node.
pub(crate) fn absent_failure(ctx: &Context<'_>, absent: &AbsentNode) -> Failure {
    let (what, step) = describe_absence(ctx, absent);
    Failure::not_found(what).with_step(step)
}
