//! Set the priority of a ticket: one key of its file.

use domain::front_matter;
use domain::operation::Verb;
use domain::work::triage::Priority;

use crate::claim_node::refuse_claimed_change;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{load_node, reject_extra_words};
use crate::observe::{record_named_plans, with_observed_node_files};
use crate::scan::NamedPlans;
use crate::tickets::{TicketView, load_ticket_view, read_ticket_file, require_single_ticket};

/// Sets the priority of a ticket.
///
/// # Errors
/// When there is no such ticket, or the word is not a priority.
pub fn set_priority(ctx: &Context<'_>, node: &[String], word: &str) -> Result<TicketView, Failure> {
    let priority = Priority::from_word(word).ok_or_else(|| {
        let known = Priority::ALL.map(Priority::as_str).join(", ");
        Failure::invalid(format!(
            "`{word}` is not a priority: expected one of {known}"
        ))
    })?;
    with_observed_node_files(ctx, node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = require_single_ticket(ctx, &*tx, load_node(&*tx, id)?)?;
        refuse_claimed_change(ctx, &*tx, &node)?;
        let file = node.path.clone().unwrap_or_default();
        let text = read_ticket_file(ctx, &file)?;
        let changed = front_matter::set_key(&text, "priority", priority.as_str());
        // Setting the same priority again records nothing.
        let operation = match changed == text {
            true => None,
            false => {
                planned.put_file(&file, Some(&changed))?;
                let summary = format!("{} has priority {}", node.alias, priority.as_str());
                let named = NamedPlans {
                    changed: vec![id],
                    ..NamedPlans::default()
                };
                let verb = (Verb::Ticket, summary);
                record_named_plans(ctx, tx, planned, &named, verb, Vec::new())?
            }
        };
        load_ticket_view(ctx, &*tx, &node.alias, operation)
    })
}
