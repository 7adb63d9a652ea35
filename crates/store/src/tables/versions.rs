//! Queries of versions, backups and file stamps, with the checksums of versions verified.

use domain::fact::Backup;
use domain::ids::{CanonicalHash, Digest32, NodeId, OperationId, VersionHash};
use domain::node::ParentVersion;
use domain::ports::{FileStamp, NodeReader, StoreFault, VersionReader};
use domain::time::Timestamp;
use domain::version::Version;
use rusqlite::types::{Value, ValueRef};

use super::checksums::checksum_of_values;
use super::rows::{BadRow, decode_digest_column};
use super::sql::{Row, params};
use super::view::TableView;

impl VersionReader for TableView<'_> {
    fn load_versions(&self, node: NodeId) -> Result<Vec<Version>, StoreFault> {
        let mut found = self.query_rows(
            &format!("SELECT {VERSION_COLUMNS} WHERE node = ?1"),
            params![node.0],
            read_version,
        )?;
        found.sort_by_key(|version| std::cmp::Reverse((version.operation, version.hash)));
        self.refuse_lost_version(node, &found)?;
        Ok(found)
    }

    fn load_version(&self, node: NodeId, hash: VersionHash) -> Result<Option<Version>, StoreFault> {
        self.query_one_row(
            &format!("SELECT {VERSION_COLUMNS} WHERE node = ?1 AND hash = ?2"),
            params![node.0, hash.0.0.as_slice()],
            read_version,
        )
    }

    fn load_text(&self, hash: VersionHash) -> Result<Option<String>, StoreFault> {
        self.text_of_version(hash)
    }

    fn load_backups(&self, node: NodeId) -> Result<Vec<Backup>, StoreFault> {
        self.query_rows(
            "SELECT node, version, path, reason, at FROM backup WHERE node = ?1 ORDER BY at DESC, path DESC",
            params![node.0],
            |row| {
                Ok(Backup {
                    node: NodeId(row.get(0)?),
                    version: VersionHash(decode_digest_column(row.get_ref(1)?)?),
                    path: row.get(2)?,
                    reason: row.get(3)?,
                    at: Timestamp::from_millis(row.get(4)?),
                })
            },
        )
    }

    fn file_stamp(&self, node: NodeId) -> Result<Option<(FileStamp, VersionHash)>, StoreFault> {
        let found = self.query_one_row(
            "SELECT node, size, modified_ns, changed_ns, inode, version FROM stamp WHERE node = ?1",
            params![node.0],
            read_stamp,
        )?;
        Ok(found.map(|(_, stamp, version)| (stamp, version)))
    }

    fn file_stamps(&self) -> Result<Vec<(NodeId, FileStamp, VersionHash)>, StoreFault> {
        self.query_rows(
            "SELECT node, size, modified_ns, changed_ns, inode, version FROM stamp",
            params![],
            read_stamp,
        )
    }
}

impl TableView<'_> {
    /// Passes on the versions of all nodes, verified.
    pub(super) fn visit_versions(&self, each: &mut dyn FnMut(Version)) -> Result<(), StoreFault> {
        let sql = format!("SELECT {VERSION_COLUMNS}");
        self.sql.query_rows(&sql, params![], &mut |row| {
            each(read_version(row)?);
            Ok(())
        })
    }
}

/// Returns the checksum of a version's columns.
pub(crate) fn version_checksum(version: &Version) -> i64 {
    checksum_of_values(&version_values(version))
}

/// Returns the values of a version's columns, without the checksum.
pub(crate) fn version_values(version: &Version) -> Vec<Value> {
    let hash = |digest: Digest32| Value::Blob(digest.0.to_vec());
    vec![
        Value::Integer(version.node.0.into()),
        hash(version.hash.0),
        hash(version.canonical.0),
        version
            .basis
            .map_or(Value::Null, |basis| hash(basis.version.0)),
        version
            .basis
            .map_or(Value::Null, |basis| hash(basis.canonical.0)),
        Value::Integer(version.operation.0.cast_signed()),
        Value::Integer(version.at.as_millis()),
        version
            .size
            .map_or(Value::Null, |size| Value::Integer(size.cast_signed())),
    ]
}

const VERSION_COLUMNS: &str =
    "node, hash, canonical, basis_version, basis_canonical, operation, at, size, sum FROM version";

fn read_version(row: &Row<'_>) -> Result<Version, BadRow> {
    let basis = match (row.get_ref(3)?, row.get_ref(4)?) {
        (ValueRef::Null, _) | (_, ValueRef::Null) => None,
        (version, canonical) => Some(ParentVersion {
            version: VersionHash(decode_digest_column(version)?),
            canonical: CanonicalHash(decode_digest_column(canonical)?),
        }),
    };
    let version = Version {
        node: NodeId(row.get(0)?),
        hash: VersionHash(decode_digest_column(row.get_ref(1)?)?),
        canonical: CanonicalHash(decode_digest_column(row.get_ref(2)?)?),
        basis,
        operation: OperationId(row.get::<i64>(5)?.cast_unsigned()),
        at: Timestamp::from_millis(row.get(6)?),
        size: row.get::<Option<i64>>(7)?.map(i64::cast_unsigned),
    };
    if version_checksum(&version) != row.get::<i64>(8)? {
        return Err(BadRow::new(format!(
            "checksum mismatch in a version of node {}",
            version.node
        )));
    }
    Ok(version)
}

fn read_stamp(row: &Row<'_>) -> Result<(NodeId, FileStamp, VersionHash), BadRow> {
    let stamp = FileStamp {
        size: row.get::<i64>(1)?.cast_unsigned(),
        modified_ns: row.get(2)?,
        changed_ns: row.get(3)?,
        inode: row.get::<i64>(4)?.cast_unsigned(),
    };
    Ok((
        NodeId(row.get(0)?),
        stamp,
        VersionHash(decode_digest_column(row.get_ref(5)?)?),
    ))
}

impl TableView<'_> {
    /// Reports damage if the present text of a node is not among its versions.
    ///
    /// A checksum protects a row that is read. A damaged page can also hide a row, which no checksum
    /// shows; every text of a node is recorded as a version, so the present one has to be there.
    fn refuse_lost_version(&self, node: NodeId, found: &[Version]) -> Result<(), StoreFault> {
        let present = self
            .load_node(node)?
            .and_then(|node| node.content.version_hash());
        match present {
            Some(hash) if found.iter().all(|version| version.hash != hash) => {
                Err(StoreFault::Damaged {
                    what: format!("the version of the present text of node {node} is missing"),
                })
            }
            _ => Ok(()),
        }
    }
}
