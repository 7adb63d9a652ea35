//! Diff between a version of a node's text and the present one.

use domain::node::Node;
use domain::ports::{Snapshot, StoreFault};
use domain::version::pick_version;

use crate::context::Context;
use crate::failure::Failure;
use crate::list_versions::load_version_entries;
use crate::locate::{load_node, load_node_path};
use crate::observe::observe_node;
use crate::scan::ScanScope;
use crate::views::DiffView;

/// Returns the diff from a version (by default the previous one) to the present text.
///
/// # Errors
/// When there is no such node or version.
pub fn diff_version(ctx: &Context<'_>, words: &[String]) -> Result<DiffView, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    let selector = match seen.rest {
        [] => "-1",
        [one] => one.as_str(),
        [_, extra, ..] => {
            return Err(Failure::invalid(format!(
                "unexpected argument `{extra}` after the version"
            )));
        }
    };
    let node = load_node(&*seen.state, seen.id)?;
    load_version_diff(ctx, &*seen.state, &node, selector)
}

/// Returns the diff from a version to the present text.
pub(crate) fn load_version_diff(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    selector: &str,
) -> Result<DiffView, Failure> {
    let entries = load_version_entries(ctx, state, node)?;
    let older = pick_version(&load_node_path(state, node)?, &entries, selector)?;
    let text = |hash| -> Result<String, Failure> {
        state.load_text(hash)?.ok_or_else(|| {
            StoreFault::Damaged {
                what: "a stored text is missing".to_owned(),
            }
            .into()
        })
    };
    let (newer_name, newer) = match node.content.version_hash() {
        Some(version) => (
            format!("{} {} (now)", node.alias, version.short_hex()),
            text(version)?,
        ),
        // A deleted file is shown as a diff to nothing, which is more useful than an error to a
        // person who decides whether to restore it.
        None => (format!("{} (missing)", node.alias), String::new()),
    };
    let moment = older.version.at.format_local_minute();
    let older_name = format!(
        "{} {} ({moment})",
        node.alias,
        older.version.hash.short_hex()
    );
    Ok(DiffView::from_texts(
        older_name,
        &text(older.version.hash)?,
        newer_name,
        &newer,
    ))
}
