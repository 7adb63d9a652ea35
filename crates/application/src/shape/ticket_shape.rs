//! Shape changes of tickets, and of plans that are items of a file, such as scenarios.
//!
//! They have names instead of positions, and files of their own kind, so the use cases of tickets make
//! them. The outcome is that of every change of shape.

use domain::operation::Verb;
use domain::profile::{Level, parent_folder};
use domain::work::scenarios::add_scenario;

use super::resolve::{find_level, resolve_parent};
use super::{ChangeShapeRequest, ShapeChange, ShapeOutcome};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, hash_request};
use crate::locate::find_node;
use crate::observe::{load_plan_tree, record_planned, with_observed_files};
use crate::scan::ScanScope;
use crate::split_ticket::{TicketParts, make_parts};
use crate::tickets::{
    MadeTicket, NewTicket, TicketMode, find_ticket_level, is_ticket_level, make_ticket,
};
use crate::write_plan::read_text;

/// Makes a change of tickets or scenarios; `None` if it is about other plans.
pub(super) fn try_change_tickets(
    ctx: &Context<'_>,
    request: &ChangeShapeRequest,
) -> Result<Option<ShapeOutcome>, Failure> {
    let dry_run = request.dry_run;
    match &request.change {
        ShapeChange::Add {
            level,
            under,
            name,
            title,
        } => {
            let (_, level) = find_level(ctx, level)?;
            let (under, name, title) = (under.as_deref(), name.as_deref(), title.as_deref());
            if level.items.is_some() {
                let title = title.or(name).unwrap_or_default();
                return add_item(ctx, level, under, title, dry_run).map(Some);
            }
            if !is_ticket_level(ctx, &level.name) {
                return Ok(None);
            }
            add_ticket(ctx, under, name, title.unwrap_or_default(), dry_run).map(Some)
        }
        ShapeChange::Split {
            node,
            at,
            title,
            children_from,
        } => {
            if !is_ticket(ctx, node)? {
                return Ok(None);
            }
            if let Some(child) = children_from {
                let what = "a ticket has an id and no position, so its children stay below it";
                return Err(Failure::invalid(what)
                    .with_step(format!("tl move {child} --under TICKET   # afterwards")));
            }
            let title = title.as_deref();
            split(ctx, node, TicketParts::From { at, title }, dry_run).map(Some)
        }
        ShapeChange::SplitInto { node, titles } => {
            if !is_ticket(ctx, node)? {
                let node = node.join(" ");
                let what = format!("`{node}` is split at a heading or a line of its text");
                return Err(Failure::invalid(what)
                    .with_step(format!("tl split {node} --at HEADING   # --title TITLE")));
            }
            split(ctx, node, TicketParts::Titles(titles), dry_run).map(Some)
        }
        _ => Ok(None),
    }
}

/// Whether words name a ticket; a name that nothing has is reported by the change itself.
fn is_ticket(ctx: &Context<'_>, words: &[String]) -> Result<bool, Failure> {
    let Ok((_, level, _)) = find_ticket_level(ctx) else {
        return Ok(false);
    };
    let state = ctx.store.begin_read()?;
    let Ok((id, _)) = find_node(ctx, &*state, words) else {
        return Ok(false);
    };
    let node = state.load_node(id)?;
    Ok(node.is_some_and(|node| node.level == level.name))
}

fn mode_of(dry_run: bool) -> TicketMode {
    match dry_run {
        true => TicketMode::Preview,
        // Not `Verb::Ticket`: a plain undo is to take it back, as every change of shape.
        false => TicketMode::Record(Verb::Reshape),
    }
}

fn add_ticket(
    ctx: &Context<'_>,
    under: Option<&str>,
    name: Option<&str>,
    title: &str,
    dry_run: bool,
) -> Result<ShapeOutcome, Failure> {
    let request = NewTicket {
        id: name.map(str::to_owned),
        parent: under.map(|under| under.split_whitespace().map(str::to_owned).collect()),
        ..NewTicket::with_title(title)
    };
    make_ticket(ctx, &request, mode_of(dry_run), |_, made| {
        Ok(ShapeOutcome {
            dry_run,
            operation: made.operation,
            ..describe_added(&made, format!("add {}", made.path))
        })
    })
}

/// Returns the outcome of a change that made one plan.
fn describe_added(made: &MadeTicket, summary: String) -> ShapeOutcome {
    ShapeOutcome {
        success: true,
        summary,
        node: Some(made.path.clone()),
        id: Some(made.id.clone()),
        file: Some(made.file.clone()),
        created_files: vec![made.file.clone()],
        ..ShapeOutcome::default()
    }
}

fn split(
    ctx: &Context<'_>,
    node: &[String],
    parts: TicketParts<'_>,
    dry_run: bool,
) -> Result<ShapeOutcome, Failure> {
    make_parts(ctx, node, parts, mode_of(dry_run), |_, made| {
        let paths: Vec<&str> = made.parts.iter().map(|part| part.path.as_str()).collect();
        let verb = if paths.len() == 1 { "is" } else { "are" };
        let summary = format!(
            "split {}: {} {verb} new",
            made.parent_path,
            paths.join(", ")
        );
        let first = made.parts.first();
        Ok(ShapeOutcome {
            dry_run,
            was: Some(made.parent_path),
            created_files: made.parts.iter().map(|part| part.file.clone()).collect(),
            changed_files: made.parent.path.into_iter().collect(),
            changed_entities: made.changed,
            operation: made.operation,
            ..first.map_or_else(ShapeOutcome::default, |first| {
                describe_added(first, summary)
            })
        })
    })
}

/// Adds an item to the file beside its parent's.
fn add_item(
    ctx: &Context<'_>,
    level: &Level,
    under: Option<&str>,
    title: &str,
    dry_run: bool,
) -> Result<ShapeOutcome, Failure> {
    // A title becomes a name in paths as well, which no later masking could reach.
    let title = &ctx.mask_secrets(title, "title");
    if title.trim().is_empty() {
        let what = format!("a {} needs a title", level.name);
        return Err(Failure::invalid(what).with_step(format!(
            "tl add {} --under TICKET --title TITLE",
            level.name
        )));
    }
    let items = level.items.as_deref().unwrap_or_default();
    let asked = (!dry_run).then(|| hash_request(&("add item", &level.name, under, title)));
    with_observed_files(ctx, ScanScope::Everything, asked, |planned, tx| {
        let tree = load_plan_tree(&*tx)?;
        let parent = resolve_parent(ctx, &*tx, &tree, level, under)?;
        let parent = parent
            .and_then(|id| tree.get(id))
            .ok_or_else(|| Failure::invalid(format!("a {} is part of another plan", level.name)))?;
        if !level.under.contains(&parent.level) {
            let above = level.under.join(" or ");
            return Err(Failure::refused(format!(
                "`{}` is a {}, and a {} is below a {above}",
                parent.alias, parent.level, level.name
            )));
        }
        let file = match parent_folder(parent.path.as_deref().unwrap_or_default()) {
            "" => items.to_owned(),
            folder => format!("{folder}/{items}"),
        };
        let old = read_text(ctx, &file)?;
        let is_new = old.is_none();
        let (text, name) = add_scenario(&old.unwrap_or_default(), title).map_err(|_| {
            Failure::invalid(format!("`{title}` cannot be the title of a {}", level.name))
        })?;
        let trial = PlannedFiles::new(ctx, None);
        let target = if dry_run { &trial } else { planned };
        target.put_file(&file, Some(&text))?;
        let path = format!("{}/{name}", tree.alias_path(parent));
        let summary = format!("add {path}");
        let operation = match dry_run {
            true => None,
            false => record_planned(ctx, tx, planned, Verb::Reshape, summary.clone(), Vec::new())?,
        };
        let files = |is_listed: bool| is_listed.then(|| file.clone()).into_iter().collect();
        Ok(ShapeOutcome {
            success: true,
            dry_run,
            summary,
            node: Some(path),
            id: Some(name),
            created_files: files(is_new),
            changed_files: files(!is_new),
            file: Some(file.clone()),
            operation,
            ..ShapeOutcome::default()
        })
    })
}
