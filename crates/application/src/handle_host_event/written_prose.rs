//! Records what the outputs of plans were written from, after a call that wrote some.

use domain::fact::Fact;
use domain::host_event::{HostEvent, ToolCall};
use domain::node::Progress;
use domain::operation::Verb;
use domain::ports::Transaction;
use domain::prose::{ProseBasis, find_stale_reason};
use domain::record::{self, ChangeRecords};
use domain::tree::Tree;

use super::gather::written_outputs;
use super::plans::find_recorded;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_node_path;
use crate::prose_counts::{NewCount, count_facts, measure_prose_file};

/// Records the plan's version and the progress of each output that a call wrote. Returns warnings
/// for the agent about those that were written from a plan they should not have been.
pub(super) fn record_written_prose(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    event: &HostEvent,
    call: &ToolCall,
) -> Result<Vec<String>, Failure> {
    let mut messages = Vec::new();
    for (file, place) in written_outputs(ctx, event, call) {
        let Some(node) = find_recorded(&*tx, &place)?.node else {
            messages.push(format!(
                "Throughline: `{file}` was written although `{}` has no plan.",
                place.path_alias()
            ));
            continue;
        };
        let path = load_node_path(&*tx, &node)?;
        // Told here as well as by the gate: the gate may only warn, and a command may write a file
        // that no hook saw beforehand.
        if let Some(why) = find_stale_reason(&node, None) {
            messages.push(format!(
                "Throughline: `{file}` was written although {why}: `{path}` is to be decided first: `tl why {path}`."
            ));
        }
        let mut facts: Vec<Fact> = Vec::new();
        if let Some(plan) = node.content.as_parent_version() {
            let key = node.id.0.to_string();
            let before = record::read_record::<ProseBasis>(&*tx, &key)?;
            facts.change_record(&key, before.as_ref(), Some(&ProseBasis { plan }));
        }
        // Whether it is finished is for its author to say.
        if node.progress == Progress::Pending {
            facts.push(Fact::ProgressChanged {
                node: node.id,
                before: node.progress,
                after: Progress::Active,
            });
        }
        // Sessions are told that a plan is being written once, and not of every paragraph.
        let verb = match facts.is_empty() {
            true => Verb::Write,
            false => Verb::Progress,
        };
        if let Some(found) = measure_prose_file(ctx, &file) {
            let node = node.id;
            facts.extend(count_facts(
                &*tx,
                &Tree::default(),
                &[NewCount { node, found }],
            )?);
        }
        if !facts.is_empty() {
            let mut operation = ctx.new_operation(verb, format!("{path} is being written"));
            operation.facts = facts;
            tx.record_operation(operation)?;
        }
    }
    Ok(messages)
}
