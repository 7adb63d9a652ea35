//! Read access of write transactions: they delegate to the state they change.
//!
//! In one table, so that a method added to a reader trait is delegated once for both transactions.

use domain::fact::Backup;
use domain::ids::{Digest32, NodeId, OperationId, StoreId, VersionHash};
use domain::node::Node;
use domain::operation::{Operation, OperationHead};
use domain::ports::{
    ChildName, FileStamp, NodeReader, OperationReader, RecordReader, Snapshot, StoreFault,
    VersionReader,
};
use domain::record::RecordKey;
use domain::search::{MatchMode, SearchQuery};
use domain::status::StatusInputs;
use domain::time::Timestamp;
use domain::version::Version;
use serde_json::Value;

use crate::memory::MemoryTransaction;
use crate::tables::write::TableTransaction;

/// Implements one reader trait for both transactions. All methods return a `Result`.
macro_rules! delegate_reader {
    ($reader:ident { $($method:ident($($name:ident: $kind:ty),*) -> $found:ty;)* }) => {
        delegate_reader!(TableTransaction<'_>, view, $reader { $($method($($name: $kind),*) -> $found;)* });
        delegate_reader!(MemoryTransaction<'_>, draft, $reader { $($method($($name: $kind),*) -> $found;)* });
    };
    ($type:ty, $state:ident, $reader:ident { $($method:ident($($name:ident: $kind:ty),*) -> $found:ty;)* }) => {
        impl $reader for $type {
            $(fn $method(&self, $($name: $kind),*) -> Result<$found, StoreFault> {
                $reader::$method(&self.$state, $($name),*)
            })*
        }
    };
}

delegate_reader!(NodeReader {
    load_node(id: NodeId) -> Option<Node>;
    nodes_by_alias(alias: &str) -> Vec<Node>;
    children_by_alias(parent: NodeId, alias: &str) -> Vec<Node>;
    load_children(parent: NodeId) -> Vec<Node>;
    child_names(parent: NodeId) -> Vec<ChildName>;
    all_nodes() -> Vec<Node>;
    nodes_outside(profiles: &[&str]) -> Vec<Node>;
    load_subtree(top: NodeId) -> Vec<Node>;
    load_status_inputs(top: NodeId) -> Vec<StatusInputs>;
});

delegate_reader!(VersionReader {
    load_versions(node: NodeId) -> Vec<Version>;
    load_version(node: NodeId, hash: VersionHash) -> Option<Version>;
    load_text(hash: VersionHash) -> Option<String>;
    load_backups(node: NodeId) -> Vec<Backup>;
    file_stamp(node: NodeId) -> Option<(FileStamp, VersionHash)>;
    file_stamps() -> Vec<(NodeId, FileStamp, VersionHash)>;
});

delegate_reader!(OperationReader {
    last_operation_id() -> OperationId;
    load_operations(before: Option<OperationId>, most: usize) -> Vec<Operation>;
    operation_heads(before: Option<OperationId>, most: usize) -> Vec<OperationHead>;
    operation_heads_of_node(node: NodeId, before: Option<OperationId>, most: usize) -> Vec<OperationHead>;
    load_operation(id: OperationId) -> Option<Operation>;
    undone_by(id: OperationId) -> Option<OperationId>;
    chain_hash(id: OperationId) -> Option<Digest32>;
    journal_lines(after: OperationId, most: usize) -> Vec<String>;
});

delegate_reader!(RecordReader {
    record_body(kind: &str, key: &str) -> Option<Value>;
    records_by_prefix(kind: &str, prefix: &str) -> Vec<(String, Value)>;
    record_texts(kind: &str) -> Vec<(String, String)>;
    search_records(kinds: &[&str], query: &SearchQuery, matching: MatchMode, most: usize) -> Vec<RecordKey>;
    load_note(key: &str) -> Option<String>;
    has_notes(prefix: &str) -> bool;
});

impl Snapshot for TableTransaction<'_> {
    fn store_id(&self) -> Result<StoreId, StoreFault> {
        self.view.store_id()
    }

    fn working_copy_secret(&self) -> String {
        self.view.working_copy_secret()
    }

    fn store_time(&self) -> Result<Option<Timestamp>, StoreFault> {
        self.view.store_time()
    }
}

impl Snapshot for MemoryTransaction<'_> {
    fn store_id(&self) -> Result<StoreId, StoreFault> {
        self.draft.store_id()
    }
}
