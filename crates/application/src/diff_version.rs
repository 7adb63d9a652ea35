//! Diff between a version of a node's text and the present one.

use domain::ports::StoreFault;
use domain::version::pick;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::list_versions::entries;
use crate::locate::get;
use crate::observe::observed_node;
use crate::survey::Scope;
use crate::views::DiffView;

/// Returns the diff from a version (by default the previous one) to the present text.
///
/// # Errors
/// When there is no such node or version.
pub fn diff_version(ctx: &Context<'_>, words: &[String]) -> Result<DiffView, Failure> {
    let seen = observed_node(ctx, words, Scope::Lineage)?;
    let selector = match seen.rest {
        [] => "-1",
        [one] => one.as_str(),
        [_, extra, ..] => {
            return Err(Failure::new(
                FailureKind::Invalid,
                format!("unexpected argument `{extra}` after the version"),
            ));
        }
    };
    let state = seen.state;
    let node = get(&*state, seen.id)?;
    let entries = entries(&*state, &node)?;
    let older = pick(&node.alias, &entries, selector)?;
    let text = |hash| -> Result<String, Failure> {
        state.text(hash)?.ok_or_else(|| {
            StoreFault::Damaged {
                what: "a stored text is missing".to_owned(),
            }
            .into()
        })
    };
    let (newer_name, newer) = match node.content.version() {
        Some(version) => (
            format!("{} {} (now)", node.alias, version.short()),
            text(version)?,
        ),
        // A deleted file is shown as a diff to nothing, which is more useful than an error to a
        // person who decides whether to restore it.
        None => (format!("{} (missing)", node.alias), String::new()),
    };
    let moment = older.version.at.for_people();
    let older_name = format!("{} {} ({moment})", node.alias, older.version.hash.short());
    Ok(DiffView::of(
        older_name,
        &text(older.version.hash)?,
        newer_name,
        &newer,
    ))
}
