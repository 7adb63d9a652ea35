//! Where the plan documents are, from the state alone.

use domain::node::Progress;
use domain::plan_document::{DocumentPosition, DocumentRecord, DocumentStage};
use domain::ports::{Snapshot, StoreFault};
use domain::record;

use super::document_files::resolve_document;
use crate::context::Context;
use crate::failure::Failure;

/// Returns the positions of all documents that are not frozen: what is ready in the others, their
/// milestones say.
pub(crate) fn list_document_positions(
    state: &dyn Snapshot,
) -> Result<Vec<DocumentPosition>, Failure> {
    let mut found = Vec::new();
    for (id, record) in record::read_records::<DocumentRecord>(state, "")? {
        if record.frozen.is_none() {
            found.extend(load_position(state, id, &record)?);
        }
    }
    Ok(found)
}

/// Returns the position of the session's current document, if there is one.
pub(crate) fn find_current_position(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<DocumentPosition>, Failure> {
    // Before the first document there is no current one.
    let Ok(id) = resolve_document(ctx, state, None) else {
        return Ok(None);
    };
    let Some(record) = record::read_record::<DocumentRecord>(state, &id)? else {
        return Ok(None);
    };
    Ok(load_position(state, id, &record)?)
}

fn load_position(
    state: &dyn Snapshot,
    document: String,
    record: &DocumentRecord,
) -> Result<Option<DocumentPosition>, StoreFault> {
    let Some(node) = state.load_node(record.node)? else {
        return Ok(None);
    };
    let stage = DocumentStage::of_record(record, node.content.version_hash());
    let (milestones, completed) = match stage {
        DocumentStage::Frozen => {
            let milestones = state.load_children(node.id)?;
            let is_complete = |progress| progress == Progress::Complete;
            let completed = milestones.iter().filter(|one| is_complete(one.progress));
            (milestones.len(), completed.count())
        }
        DocumentStage::Draft | DocumentStage::ChangedOutside => {
            (state.child_names(node.id)?.len(), 0)
        }
    };
    Ok(Some(DocumentPosition {
        title: node.description.title.filter(|title| *title != document),
        document,
        stage,
        milestones,
        completed,
    }))
}
