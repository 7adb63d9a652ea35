//! Documents of the search index, made from nodes, prose files, records and operations.

use domain::comment::Comment;
use domain::ids::{NodeId, OperationId, VersionHash};
use domain::memory::{Anchor, Entry, EntryKind, Mem};
use domain::node::Node;
use domain::operation::OperationHead;
use domain::ports::{FileReadResult, FileStamp, PlanFiles, Snapshot};
use domain::record::{RecordKey, Recorded as _};
use domain::search::documents::{DocumentKey, DocumentKind, SearchDocument};
use domain::search::searchable_text;
use domain::secrets::mask_secrets;
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;
use crate::tick::story_state::{MAX_PROSE_BYTES, prose_path_below};

/// Returns the kind of document that records of a kind are, if they are searched.
pub(super) fn record_document_kind(kind: &str) -> Option<DocumentKind> {
    if kind == Comment::KIND {
        Some(DocumentKind::Comment)
    } else if kind == Anchor::KIND || kind == Mem::KIND {
        Some(DocumentKind::Note)
    } else {
        EntryKind::ALL
            .iter()
            .any(|entry| entry.as_str() == kind)
            .then_some(DocumentKind::Memory)
    }
}

/// Returns the kinds of records that are searched.
pub(super) fn searched_record_kinds() -> impl Iterator<Item = &'static str> {
    [Comment::KIND, Anchor::KIND, Mem::KIND]
        .into_iter()
        .chain(EntryKind::ALL.into_iter().map(EntryKind::as_str))
}

/// Returns the key of a node's document.
pub(super) fn node_document(kind: DocumentKind, node: NodeId) -> DocumentKey {
    DocumentKey {
        kind,
        key: node.0.to_string(),
    }
}

/// Returns the key of a record's document; `None` if records of its kind are not searched.
pub(super) fn record_document(record: &RecordKey) -> Option<DocumentKey> {
    Some(DocumentKey {
        kind: record_document_kind(&record.kind)?,
        key: format!("{}:{}", record.kind, record.key),
    })
}

/// Returns the record a document was made from.
pub(super) fn record_of(id: &DocumentKey) -> Option<RecordKey> {
    let (kind, key) = id.key.split_once(':')?;
    Some(RecordKey {
        kind: kind.to_owned(),
        key: key.to_owned(),
    })
}

/// Returns the node that a plan, its prose or a comment belongs to.
pub(super) fn node_of(id: &DocumentKey) -> Option<NodeId> {
    let number = match id.kind {
        DocumentKind::Plan | DocumentKind::Prose => id.key.as_str(),
        // The key of a comment begins with the number of its node (`comment_key_prefix`).
        DocumentKind::Comment => id.key.split_once(':')?.1.split('/').next()?,
        DocumentKind::Note | DocumentKind::Memory | DocumentKind::Log => return None,
    };
    number.parse().ok().map(NodeId)
}

/// A plan whose text is not loaded yet.
pub(super) struct PlanSource<'n> {
    node: &'n Node,
    version: VersionHash,
    prose_path: Option<String>,
}

impl<'n> PlanSource<'n> {
    /// Returns the source of a node with a text.
    pub(super) fn new(ctx: &Context<'_>, node: &'n Node, parent: Option<&Node>) -> Option<Self> {
        Some(Self {
            node,
            version: node.content.version_hash()?,
            prose_path: prose_path_below(ctx, parent, node),
        })
    }

    pub(super) fn document_key(&self) -> DocumentKey {
        node_document(DocumentKind::Plan, self.node.id)
    }

    /// Returns the mark, which changes with everything that is indexed.
    pub(super) fn content_mark(&self) -> String {
        // Not only the version: a rename or a new title changes what is found without a new text.
        format!(
            "{} {} {} {}",
            self.version,
            self.node.alias,
            self.prose_path.as_deref().unwrap_or_default(),
            self.node.description.title.as_deref().unwrap_or_default()
        )
    }

    /// Loads the text; `None` if it is not stored.
    pub(super) fn load_document(
        self,
        state: &dyn Snapshot,
    ) -> Result<Option<SearchDocument>, Failure> {
        let Some(body) = state.load_text(self.version)? else {
            return Ok(None);
        };
        let title = self.node.description.title.as_deref().unwrap_or_default();
        Ok(Some(SearchDocument {
            id: self.document_key(),
            mark: self.content_mark(),
            title: format!("{} {title}", self.node.alias),
            prose_path: self.prose_path,
            body,
        }))
    }
}

/// Returns the mark of a prose file.
pub(super) fn prose_mark(stamp: &FileStamp) -> String {
    // The inode and the change time too: an editor that saves by renaming, or a tool that restores
    // the modification time, keeps size and time.
    format!(
        "{} {} {} {}",
        stamp.size, stamp.modified_ns, stamp.changed_ns, stamp.inode
    )
}

/// Reads a prose file; `None` if there is none.
pub(super) fn read_prose_document(
    files: &dyn PlanFiles,
    plan: &DocumentKey,
    path: &str,
    mark: String,
) -> Option<SearchDocument> {
    Some(SearchDocument {
        id: DocumentKey {
            kind: DocumentKind::Prose,
            key: plan.key.clone(),
        },
        mark,
        prose_path: Some(path.to_owned()),
        title: String::new(),
        body: read_prose_text(files, path)?,
    })
}

/// Returns the text of a prose file without secrets: plans are masked where they are stored, these
/// files are in no store.
pub(super) fn read_prose_text(files: &dyn PlanFiles, path: &str) -> Option<String> {
    match files.read_file(path, MAX_PROSE_BYTES) {
        FileReadResult::Text { text, .. } => Some(mask_secrets(&text).into_owned()),
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
    }
}

/// Returns the document of a record.
pub(super) fn record_source(record: &RecordKey, body: &Value) -> Option<SearchDocument> {
    let id = record_document(record)?;
    let (title, body) = record_texts(record, body);
    Some(SearchDocument {
        // Of the searched texts alone: a record whose other fields change is not indexed again.
        mark: VersionHash::of_bytes(format!("{title}\n{body}").as_bytes()).to_string(),
        id,
        prose_path: None,
        title,
        body,
    })
}

/// Returns the title and the text of a record.
pub(super) fn record_texts(record: &RecordKey, body: &Value) -> (String, String) {
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    match record_document_kind(&record.kind) {
        Some(DocumentKind::Comment) => (String::new(), text("text")),
        Some(DocumentKind::Note) => (text("shelf"), text("text")),
        _ => {
            let entry = EntryKind::from_word(&record.kind)
                .and_then(|kind| Entry::from_value(kind, body.clone()).ok());
            let title = entry.map(|entry| entry.name()).unwrap_or_default();
            (title, searchable_text(&record.kind, body))
        }
    }
}

/// Returns the document of an operation.
pub(super) fn operation_source(operation: &OperationHead) -> SearchDocument {
    SearchDocument {
        id: DocumentKey {
            kind: DocumentKind::Log,
            key: operation.id.to_string(),
        },
        // Operations never change, so any mark serves; only those of another history are removed.
        mark: operation.at.as_millis().to_string(),
        prose_path: None,
        title: String::new(),
        body: operation.summary.clone(),
    }
}

/// Returns the operation a document was made from.
pub(super) fn operation_of(id: &DocumentKey) -> Option<OperationId> {
    (id.kind == DocumentKind::Log)
        .then(|| id.key.parse().ok().map(OperationId))
        .flatten()
}
