//! Split a ticket into child tickets: empty ones with titles, or one with the end of its text.
//!
//! The one use case behind `tl ticket split` and `tl split` of a ticket. A ticket has an id and no
//! position, so its parts come below it and not beside it.

use domain::duplicate_ids::id_of_alias;
use domain::front_matter;
use domain::ids::OperationId;
use domain::node::Node;
use domain::operation::Verb;
use domain::ports::Transaction;
use domain::shape::split_text;
use serde::Serialize;

use crate::claim_node::refuse_claim_of_other;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{self, PlannedFiles};
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::{build_named_operation, record_planned_operation, with_recorded_node_files};
use crate::scan::{NamedPlans, NewPlanFile};
use crate::ticket_file::plan_ticket_file;
use crate::ticket_ids::{WantedIds, list_folder_ids, next_child_id};
use crate::tickets::{
    IdScope, MadeTicket, NewTicket, TicketMode, TicketView, collapse_whitespace, find_ticket_level,
    load_ticket_view, read_ticket_file, require_single_ticket,
};
use crate::transitions::collect_transitions;
use crate::views::TransitionView;

/// Outcome of [`split_ticket`].
#[derive(Clone, Debug, Serialize)]
pub struct SplitOutcome {
    pub parent: String,
    pub children: Vec<TicketView>,
}

/// What the parts of a ticket are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TicketParts<'a> {
    /// One child with each of these titles.
    Titles(&'a [String]),
    /// One child with the text from a heading or line on; its title is that heading, or another.
    From { at: &'a str, title: Option<&'a str> },
}

/// A ticket and the parts that were made of it.
pub(crate) struct MadeParts {
    pub(crate) parent: Node,
    pub(crate) parent_path: String,
    pub(crate) parts: Vec<MadeTicket>,
    pub(crate) changed: Vec<TransitionView>,
    pub(crate) operation: Option<OperationId>,
}

/// Splits a ticket: one child per title, listed in the parent's `children`.
///
/// # Errors
/// When there is no such ticket or no title, or another session works on it.
pub fn split_ticket(
    ctx: &Context<'_>,
    node: &[String],
    titles: &[String],
) -> Result<SplitOutcome, Failure> {
    let mode = TicketMode::Record(Verb::Ticket);
    make_parts(ctx, node, TicketParts::Titles(titles), mode, |tx, made| {
        let view = |part: &MadeTicket| load_ticket_view(ctx, tx, &part.id, made.operation);
        Ok(SplitOutcome {
            children: made.parts.iter().map(view).collect::<Result<_, _>>()?,
            parent: made.parent.alias,
        })
    })
}

/// Splits a ticket or previews it; `show` describes the parts from the state they are in.
pub(crate) fn make_parts<T>(
    ctx: &Context<'_>,
    node: &[String],
    parts: TicketParts<'_>,
    mode: TicketMode,
    show: impl FnOnce(&dyn Transaction, MadeParts) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (profile, level, _) = find_ticket_level(ctx)?;
    let asked = match parts {
        TicketParts::Titles(titles) => {
            if titles.iter().all(|title| title.trim().is_empty()) {
                return Err(Failure::invalid("a split needs the titles of its parts")
                    .with_step("tl ticket split 017 \"First part\" \"Second part\""));
            }
            file_writes::hash_request(&("ticket split", node, titles))
        }
        TicketParts::From { .. } => file_writes::hash_request(&("ticket split", node, parts)),
    };
    let request = (mode != TicketMode::Preview).then_some(asked);
    with_recorded_node_files(ctx, node, request, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let parent = require_single_ticket(ctx, &*tx, load_node(&*tx, id)?)?;
        refuse_claim_of_other(ctx, &*tx, &parent)?;
        let trial = PlannedFiles::new(ctx, None);
        let target = match mode {
            TicketMode::Preview => &trial,
            TicketMode::Record(_) => planned,
        };
        let file = parent.path.clone().unwrap_or_default();
        let text = read_ticket_file(ctx, &file)?;
        let (left, new) = cut_parts(&text, parts)?;
        let parent_id = id_of_alias(&parent.alias);
        let parent_path = load_node_path(&*tx, &parent)?;
        let mut taken = list_folder_ids(ctx, level, WantedIds::Below(parent_id));
        let mut named = NamedPlans {
            changed: vec![id],
            ..NamedPlans::default()
        };
        let scope = IdScope::new(profile, level, asked, mode);
        let mut made = Vec::new();
        for part in new {
            // The files exist only as planned writes, so that the scan for taken ids does not see
            // them; a reserved id is added to `taken`.
            let id = scope.reserve_next(ctx, &*tx, &mut taken, |taken| {
                next_child_id(parent_id, taken)
            })?;
            let path = plan_ticket_file(ctx, target, &id, &part.title, Some(&parent), &part)?;
            named.new.push(NewPlanFile {
                profile,
                level,
                alias: id.clone(),
                path: path.clone(),
                parent: Some(parent.id),
            });
            made.push(MadeTicket {
                path: format!("{parent_path}/{id}"),
                file: path,
                id,
                operation: None,
            });
        }
        let ids: Vec<&str> = made.iter().map(|part| part.id.as_str()).collect();
        target.put_file(&file, Some(&list_children(&left, &ids)))?;
        let verb = match mode {
            TicketMode::Record(verb) => verb,
            TicketMode::Preview => Verb::Reshape,
        };
        let operation = build_named_operation(ctx, tx, target, &named, verb)?;
        let facts = operation.as_ref().map_or(&[][..], |found| &found.facts);
        let changed = collect_transitions(&*tx, facts, None)?;
        let summary = format!("split {} into {}", parent.alias, ids.join(", "));
        let mut made = MadeParts {
            parent,
            parent_path,
            parts: made,
            changed: changed
                .reinstated
                .into_iter()
                .chain(changed.stale)
                .collect(),
            operation: None,
        };
        if mode != TicketMode::Preview {
            let verb = (verb, summary);
            made.operation =
                record_planned_operation(ctx, tx, target, operation, verb, Vec::new())?;
        }
        show(&*tx, made)
    })
}

/// Returns what is left of a ticket's text, and its parts.
fn cut_parts(text: &str, parts: TicketParts<'_>) -> Result<(String, Vec<NewTicket>), Failure> {
    let (at, title) = match parts {
        TicketParts::Titles(titles) => {
            let titles = titles.iter().map(|title| collapse_whitespace(title));
            let titles = titles.filter(|title| !title.is_empty());
            let new = titles.map(|title| NewTicket::with_title(&title));
            return Ok((text.to_owned(), new.collect()));
        }
        TicketParts::From { at, title } => (at, title),
    };
    let (left, second) = split_text(text, at)?;
    let (first, rest) = second.split_once('\n').unwrap_or((second, ""));
    let heading = first.trim().trim_start_matches('#').trim();
    let (title, body) = match title.map(collapse_whitespace) {
        Some(title) if !title.is_empty() => (title, second),
        // The heading is the title of the new file already.
        _ if first.starts_with('#') && !heading.is_empty() => (heading.to_owned(), rest),
        _ => {
            let what = "the new ticket needs a title: its text does not begin with a heading";
            return Err(Failure::invalid(what)
                .with_step(format!("tl split 017 --at {at} --title \"Second part\"")));
        }
    };
    let part = NewTicket {
        body: Some(body.to_owned()),
        ..NewTicket::with_title(&title)
    };
    Ok((left.to_owned(), vec![part]))
}

/// Returns the text of a ticket with these ids at the end of its `children`.
fn list_children(text: &str, ids: &[&str]) -> String {
    // Appended to the present list, which people reorder and edit by hand.
    let mut children = front_matter::parse_front_matter(text).get_list("children");
    for id in ids {
        if !children.iter().any(|known| known == id) {
            children.push((*id).to_owned());
        }
    }
    // Quoted: YAML reads a bare `017` as an octal number.
    let list: Vec<String> = children.iter().map(|id| format!("'{id}'")).collect();
    front_matter::set_key(text, "children", &format!("[{}]", list.join(", ")))
}
