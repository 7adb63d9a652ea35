//! Progress that plan files state about themselves in their front matter.

use domain::fact::Fact;
use domain::node::{Progress, WorkKeys};
use domain::ports::Transaction;

use crate::context::{Context, Notice};
use crate::evidence::{consume_override, refuse_unproved};
use crate::failure::Failure;

/// Derives the progress from front matter where a file declares it; unproved work does not become
/// complete.
pub(crate) fn follow_file_progress(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let said = |profile: &str, work: &Option<Box<WorkKeys>>| {
        let last_phase = ctx
            .find_profile(profile)
            .and_then(|profile| profile.work_phases.last());
        work.as_ref()
            .and_then(|work| work.stated_progress(last_phase.map(|phase| phase.name.as_str())))
    };
    let mut follow = Vec::new();
    for fact in facts.iter_mut() {
        match fact {
            Fact::NodeAdded { node } => {
                node.progress =
                    said(&node.profile, &node.description.work).unwrap_or(node.progress);
            }
            Fact::DescriptionChanged {
                node,
                before,
                after,
            } => {
                let Some(known) = tx.load_node(*node)? else {
                    continue;
                };
                let (then, now) = (
                    said(&known.profile, &before.work),
                    said(&known.profile, &after.work),
                );
                // A phase without a status after the last phase: the work was resumed.
                let has_phase = after
                    .work
                    .as_ref()
                    .is_some_and(|work| work.phase.is_some() && work.problem.is_none());
                let again = then == Some(Progress::Complete) && has_phase;
                let now = now.or_else(|| again.then_some(Progress::Active));
                let Some(progress) = now.filter(|_| now != then && now != Some(known.progress))
                else {
                    continue;
                };
                if progress == Progress::Complete {
                    // A notice, not an error: the file is written and cannot be refused, and an
                    // unrelated command must not fail because of it.
                    if let Err(refused) = refuse_unproved(ctx, &*tx, &known) {
                        ctx.push_notice(Notice::Unproved {
                            node: known.alias.clone(),
                            why: refused.message,
                        });
                        continue;
                    }
                    consume_override(ctx, tx, &known)?;
                }
                follow.push(Fact::ProgressChanged {
                    node: *node,
                    before: known.progress,
                    after: progress,
                });
            }
            _ => {}
        }
    }
    facts.append(&mut follow);
    Ok(())
}
