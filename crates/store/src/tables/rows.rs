//! Mapping between nodes and table rows.
//!
//! The columns form four groups, each with its own checksum: the inputs of the status (footing),
//! the status (table `standing`), the descriptive columns (words), and the child total. A cascade
//! reads the first two groups and writes only the second, a few bytes per node.

use std::borrow::Cow;
use std::rc::Rc;

use domain::approval::{Approval, ObjectionKind};
use domain::ids::{CanonicalHash, Digest32, NodeId, Principal, VersionHash};
use domain::node::{
    Cause, Content, Description, Node, NodeStatus, ParentVersion, Progress, Status,
};
use domain::ports::StoreFault;
use domain::status::{ApprovalInputs, ObjectionInputs, StatusInputs, TextState};
use domain::time::Timestamp;
use rusqlite::types::{Value, ValueRef};

use super::checksums::{Checksum, ChecksumPart, checksum_of_values, total_share};
use super::sql::Row;

macro_rules! footing_columns {
    () => {
        "id, parent, content, canonical, basis_canonical, approved, approved_parent, is_condemned, condemned, footing_sum"
    };
}
macro_rules! words_columns {
    () => {
        "lineage, profile, level, alias, ord, path, title, needs, relies_on, work, content_note, version, basis_version, \
         approved_version, approved_parent_version, approved_by, approved_at, approval_warnings, condemnation, \
         progress, created_at, updated_at, words_sum"
    };
}

/// Join of nodes and their statuses. CROSS JOIN fixes SQLite's order: nodes first, by lineage.
pub(crate) const NODE_JOIN: &str = "node CROSS JOIN standing ON standing.node = node.id";

/// Columns of footing and status, in the order [`read_footing`] expects.
pub(crate) const FOOTING_COLUMNS: &str =
    concat!(footing_columns!(), ", status, cause, since, standing_sum");

/// All columns of a node and its status, in the order [`read_node`] expects.
pub(crate) const NODE_COLUMNS: &str = concat!(
    footing_columns!(),
    ", status, cause, since, standing_sum, ",
    words_columns!()
);

/// Columns of table `node` without the child total, in the order of [`NodeValues`].
pub(crate) const STORED_COLUMNS: &str = concat!(footing_columns!(), ", ", words_columns!());

/// Number of columns in [`STORED`].
pub(crate) const STORED_COLUMN_COUNT: usize = WORDS_SUM_COLUMN - STANDING_COLUMN_COUNT + 1;

/// Flags in column `is_condemned`, which belongs to the footing, so that a cascade need not read
/// the descriptive columns.
///
/// Rows of earlier versions lack the second flag; `application::record_policy` rewrites them before
/// it is used.
const CONDEMNED: i64 = 1;
const APPROVED_BY_NO_PERSON: i64 = 2;
/// With [`CONDEMNED`], so that an earlier program takes a milder objection for a rejection.
const CHANGES_REQUESTED: i64 = 4;
const REVALIDATION_REQUIRED: i64 = 8;

const FOOTING_SUM_COLUMN: usize = 9;
const STATUS_COLUMN: usize = 10;
const STANDING_SUM_COLUMN: usize = 13;
const STANDING_COLUMN_COUNT: usize = 4;
const LINEAGE_COLUMN: usize = 14;
const WORDS_SUM_COLUMN: usize = 36;

/// Column `approval_warnings`: the parts of an approval without a column of their own.
///
/// A bare list of warnings where there is nothing else, as in every row of earlier programs; their
/// checksums cover that form.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum ApprovalDetails<'a> {
    Warnings(Cow<'a, [String]>),
    Full {
        #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
        warnings: Cow<'a, [String]>,
        relied_sections: Digest32,
    },
}

impl<'a> ApprovalDetails<'a> {
    /// Returns the details of an approval; `None` if there are none, which is stored as NULL.
    fn from_approval(approval: &'a Approval) -> Option<Self> {
        let warnings = Cow::Borrowed(approval.warnings.as_slice());
        match approval.relied_sections {
            Some(relied_sections) => Some(Self::Full {
                warnings,
                relied_sections,
            }),
            None if warnings.is_empty() => None,
            None => Some(Self::Warnings(warnings)),
        }
    }
}

/// A cause as stored JSON and parsed; the checksum covers the JSON.
pub(crate) struct CauseRow {
    pub(crate) body: String,
    pub(crate) cause: Cause,
}

/// Looks up a cause by id.
pub(crate) type CauseLookup<'c> = &'c dyn Fn(i64) -> Result<Rc<CauseRow>, BadRow>;

/// A row with a wrong checksum, or one that cannot be decoded. Boxed, because it is returned for
/// every row.
#[derive(Debug)]
pub(crate) struct BadRow(Box<StoreFault>);

impl BadRow {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(Box::new(StoreFault::Damaged { what: what.into() }))
    }
}

impl From<rusqlite::Error> for BadRow {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<serde_json::Error> for BadRow {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// Keeps faults of nested queries as they are: a lost connection is not damage.
impl From<StoreFault> for BadRow {
    fn from(fault: StoreFault) -> Self {
        Self(Box::new(fault))
    }
}

impl From<BadRow> for StoreFault {
    fn from(bad: BadRow) -> Self {
        *bad.0
    }
}

/// The values of a node's columns.
pub(crate) struct NodeValues {
    pub(crate) values: Vec<Value>,
}

impl NodeValues {
    pub(crate) fn from_node(node: &Node, lineage: &[u8]) -> Result<Self, StoreFault> {
        let footing = node.status_inputs();
        let json_fault = |error: serde_json::Error| StoreFault::Io {
            action: format!("cannot write `{}` as JSON", node.alias),
            source: error.into(),
        };
        let json =
            |text: Result<String, serde_json::Error>| text.map(Value::Text).map_err(json_fault);
        // Most lists are empty; NULL saves parsing JSON for each of them.
        let list = |items: &[String]| match items {
            [] => Ok(Value::Null),
            items => json(serde_json::to_string(items)),
        };
        let approval = node.approval.as_ref();
        let (content, note) = match &node.content {
            Content::Text { .. } => (0, Value::Null),
            Content::Missing => (1, Value::Null),
            Content::Unreadable { why } => (2, Value::Text(why.clone())),
        };
        let canonical = node.content.canonical_hash();
        let basis = node.content.basis();
        let mut values = vec![
            Value::Integer(node.id.0.into()),
            node.parent
                .map_or(Value::Null, |parent| Value::Integer(parent.0.into())),
            Value::Integer(content),
            canonical_value(canonical),
            canonical_value(basis.map(|basis| basis.canonical)),
            canonical_value(footing.approval.map(|approval| approval.canonical)),
            canonical_value(footing.approval.and_then(|approval| approval.parent)),
            Value::Integer(footing_flags(&footing)),
            canonical_value(
                footing
                    .condemnation
                    .and_then(|objection| objection.canonical),
            ),
        ];
        values.push(Value::Integer(checksum_of_values(&values)));
        values.extend([
            Value::Blob(lineage.to_vec()),
            Value::Text(node.profile.clone()),
            Value::Text(node.level.clone()),
            Value::Text(node.alias.clone()),
            Value::Integer(node.order),
            node.path.clone().map_or(Value::Null, Value::Text),
            node.description
                .title
                .clone()
                .map_or(Value::Null, Value::Text),
            list(&node.description.needs)?,
            list(&node.description.relies_on)?,
            match &node.description.work {
                Some(work) => json(serde_json::to_string(work))?,
                None => Value::Null,
            },
            note,
            version_value(node.content.version_hash()),
            version_value(basis.map(|basis| basis.version)),
            version_value(approval.map(|approval| approval.version)),
            version_value(
                approval
                    .and_then(|approval| approval.parent)
                    .map(|parent| parent.version),
            ),
            approval.map_or(Value::Null, |approval| Value::Text(approval.by.to_string())),
            approval.map_or(Value::Null, |approval| {
                Value::Integer(approval.at.as_millis())
            }),
            match approval {
                Some(approval) => match ApprovalDetails::from_approval(approval) {
                    Some(details) => json(serde_json::to_string(&details))?,
                    None => Value::Null,
                },
                None => Value::Null,
            },
            match &node.condemnation {
                Some(condemnation) => json(serde_json::to_string(condemnation))?,
                None => Value::Null,
            },
            Value::Integer(enum_to_position(&Progress::ALL, node.progress)),
            Value::Integer(node.created_at.as_millis()),
            Value::Integer(node.updated_at.as_millis()),
        ]);
        // The id is part of every group's checksum, so that groups of two rows cannot be swapped.
        let words = checksum_of_values(
            std::iter::once(&values[0]).chain(&values[FOOTING_SUM_COLUMN + 1..]),
        );
        values.push(Value::Integer(words));
        Ok(Self { values })
    }

    /// Returns the row's contribution to the table's total.
    pub(crate) fn total_share(&self, id: NodeId) -> i64 {
        let sum = |index: usize| match self.values[index] {
            Value::Integer(sum) => sum,
            _ => 0,
        };
        total_share(ChecksumPart::Footing, id.0, sum(FOOTING_SUM_COLUMN))
            ^ total_share(ChecksumPart::Words, id.0, sum(STORED_COLUMN_COUNT - 1))
    }
}

/// Returns the JSON of a status's cause.
pub(crate) fn cause_body(standing: &NodeStatus) -> Result<Option<String>, StoreFault> {
    standing
        .cause
        .as_ref()
        .map(serde_json::to_string)
        .transpose()
        .map_err(|error| StoreFault::Io {
            action: "cannot write a cause as JSON".to_owned(),
            source: error.into(),
        })
}

/// Returns the values of columns `status` and `since`.
pub(crate) fn standing_values(standing: &NodeStatus) -> (i64, Option<i64>) {
    (
        enum_to_position(&Status::ALL, standing.status),
        standing.since.map(Timestamp::as_millis),
    )
}

/// Returns the checksum of a node's status, including its cause's JSON.
pub(crate) fn standing_checksum(
    id: NodeId,
    standing: &NodeStatus,
    cause: Option<&str>,
    sum: &mut Checksum,
) -> i64 {
    let (status, since) = standing_values(standing);
    sum.add_column_value(ValueRef::Integer(id.0.into()));
    sum.add_column_value(ValueRef::Integer(status));
    sum.add_column_value(cause.map_or(ValueRef::Null, |body| ValueRef::Text(body.as_bytes())));
    sum.add_column_value(since.map_or(ValueRef::Null, ValueRef::Integer));
    sum.take_checksum()
}

/// The values of a row, each fetched once: the call into SQLite costs more than using the value.
struct RowColumns<'r, const WIDTH: usize>([ValueRef<'r>; WIDTH]);

impl<'r, const WIDTH: usize> RowColumns<'r, WIDTH> {
    fn read_row(row: &'r Row<'_>) -> Result<Self, BadRow> {
        // On the stack: this runs for every row of a full scan.
        let mut values = [ValueRef::Null; WIDTH];
        for (index, value) in values.iter_mut().enumerate() {
            *value = row.get_ref(index)?;
        }
        Ok(Self(values))
    }

    fn optional_number(&self, index: usize) -> Result<Option<i64>, BadRow> {
        match self.0[index] {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            _ => Err(BadRow::new(format!("column {index} is not a number"))),
        }
    }

    fn required_number(&self, index: usize) -> Result<i64, BadRow> {
        self.optional_number(index)?
            .ok_or_else(|| BadRow::new(format!("column {index} is empty")))
    }

    fn node_id(&self) -> Result<NodeId, BadRow> {
        parse_node_id(self.required_number(0)?)
    }

    fn optional_text(&self, index: usize) -> Result<Option<&'r str>, BadRow> {
        match self.0[index] {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(BadRow::new(format!("column {index} is not UTF-8"))),
            },
            _ => Err(BadRow::new(format!("column {index} is not text"))),
        }
    }

    fn required_text(&self, index: usize) -> Result<String, BadRow> {
        self.optional_text(index)?
            .map(str::to_owned)
            .ok_or_else(|| BadRow::new(format!("column {index} is empty")))
    }

    fn parse_json<T: serde::de::DeserializeOwned>(
        &self,
        index: usize,
    ) -> Result<Option<T>, BadRow> {
        Ok(self
            .optional_text(index)?
            .map(serde_json::from_str)
            .transpose()?)
    }

    fn version_hash(&self, index: usize) -> Result<VersionHash, BadRow> {
        Ok(VersionHash(decode_digest_column(self.0[index])?))
    }

    fn canonical_hash(&self, index: usize) -> Result<Option<CanonicalHash>, BadRow> {
        match self.0[index] {
            ValueRef::Null => Ok(None),
            value => Ok(Some(CanonicalHash(decode_digest_column(value)?))),
        }
    }
}

fn parse_node_id(number: i64) -> Result<NodeId, BadRow> {
    u32::try_from(number)
        .map(NodeId)
        .map_err(|_| BadRow::new(format!("{number} is not a node id")))
}

/// Decodes a whole node, verifying its checksums; also returns its contribution to the table's
/// total.
pub(crate) fn read_node(
    row: &Row<'_>,
    sum: &mut Checksum,
    causes: CauseLookup<'_>,
) -> Result<(Node, i64), BadRow> {
    let columns = RowColumns::<{ WORDS_SUM_COLUMN + 1 }>::read_row(row)?;
    let footing = decode_footing_columns(&columns, sum, causes)?;
    sum.add_column_value(columns.0[0]);
    columns.0[LINEAGE_COLUMN..WORDS_SUM_COLUMN]
        .iter()
        .for_each(|value| sum.add_column_value(*value));
    let words_sum = columns.required_number(WORDS_SUM_COLUMN)?;
    if sum.take_checksum() != words_sum {
        return Err(BadRow::new(format!(
            "checksum mismatch in the columns of node {}",
            footing.id
        )));
    }
    let lineage = columns.0[LINEAGE_COLUMN]
        .as_blob()
        .map_err(|error| BadRow::new(error.to_string()))?;
    // Subtree scans depend on the lineage, so it is checked against the id as well.
    if !lineage.ends_with(&footing.id.0.to_be_bytes()) {
        return Err(BadRow::new(format!(
            "node {} has the lineage of another node",
            footing.id
        )));
    }
    let share = total_share(
        ChecksumPart::Footing,
        footing.id.0,
        columns.required_number(FOOTING_SUM_COLUMN)?,
    ) ^ total_share(
        ChecksumPart::Standing,
        footing.id.0,
        columns.required_number(STANDING_SUM_COLUMN)?,
    ) ^ total_share(ChecksumPart::Words, footing.id.0, words_sum);
    let parent_version = |canonical: Option<CanonicalHash>, index: usize| match canonical {
        None => Ok(None),
        Some(canonical) => columns
            .version_hash(index)
            .map(|version| Some(ParentVersion { version, canonical })),
    };
    let content = match footing.text {
        TextState::Text { canonical } => Content::Text {
            // Numbers are positions in `NODE_COLUMNS`.
            version: columns.version_hash(25)?,
            canonical,
            basis: parent_version(columns.canonical_hash(4)?, 26)?,
        },
        TextState::Missing => Content::Missing,
        TextState::Unreadable => Content::Unreadable {
            why: columns.optional_text(24)?.unwrap_or_default().to_owned(),
        },
    };
    let approval = match footing.approval {
        None => None,
        Some(approval) => {
            let (warnings, relied_sections) = match columns.parse_json(31)? {
                None => (Vec::new(), None),
                Some(ApprovalDetails::Warnings(warnings)) => (warnings.into_owned(), None),
                Some(ApprovalDetails::Full {
                    warnings,
                    relied_sections,
                }) => (warnings.into_owned(), Some(relied_sections)),
            };
            let approval = Approval::from_record(
                columns.version_hash(27)?,
                approval.canonical,
                parent_version(approval.parent, 28)?,
                Principal::from(columns.required_text(29)?.as_str()),
                Timestamp::from_millis(columns.required_number(30)?),
                warnings,
            );
            Some(approval.with_relied_sections(relied_sections))
        }
    };
    let node = Node {
        id: footing.id,
        parent: footing.parent,
        profile: columns.required_text(15)?,
        level: columns.required_text(16)?,
        alias: columns.required_text(17)?,
        order: columns.required_number(18)?,
        path: columns.optional_text(19)?.map(str::to_owned),
        description: Description {
            title: columns.optional_text(20)?.map(str::to_owned),
            needs: columns.parse_json(21)?.unwrap_or_default(),
            relies_on: columns.parse_json(22)?.unwrap_or_default(),
            work: columns.parse_json(23)?,
        },
        content,
        approval,
        condemnation: columns.parse_json(32)?,
        progress: enum_from_position(&Progress::ALL, columns.required_number(33)?)?,
        standing: footing.standing,
        created_at: Timestamp::from_millis(columns.required_number(34)?),
        updated_at: Timestamp::from_millis(columns.required_number(35)?),
    };
    Ok((node, share))
}

/// Decodes a footing and its status, verifying their checksums.
pub(crate) fn read_footing(
    row: &Row<'_>,
    sum: &mut Checksum,
    causes: CauseLookup<'_>,
) -> Result<StatusInputs, BadRow> {
    decode_footing_columns(
        &RowColumns::<{ STANDING_SUM_COLUMN + 1 }>::read_row(row)?,
        sum,
        causes,
    )
}

fn decode_footing_columns<const WIDTH: usize>(
    columns: &RowColumns<'_, WIDTH>,
    sum: &mut Checksum,
    causes: CauseLookup<'_>,
) -> Result<StatusInputs, BadRow> {
    let id = columns.node_id()?;
    columns.0[..FOOTING_SUM_COLUMN]
        .iter()
        .for_each(|value| sum.add_column_value(*value));
    if sum.take_checksum() != columns.required_number(FOOTING_SUM_COLUMN)? {
        return Err(BadRow::new(format!(
            "checksum mismatch in the footing of node {id}"
        )));
    }
    let cause = columns
        .optional_number(STATUS_COLUMN + 1)?
        .map(causes)
        .transpose()?;
    let standing = NodeStatus {
        status: enum_from_position(&Status::ALL, columns.required_number(STATUS_COLUMN)?)?,
        cause: cause.as_ref().map(|kept| kept.cause.clone()),
        since: columns
            .optional_number(STATUS_COLUMN + 2)?
            .map(Timestamp::from_millis),
    };
    let body = cause.as_ref().map(|kept| kept.body.as_str());
    if standing_checksum(id, &standing, body, sum)
        != columns.required_number(STANDING_SUM_COLUMN)?
    {
        return Err(BadRow::new(format!(
            "checksum mismatch in the status of node {id}"
        )));
    }
    // The numbers are stored (see `from_node`) and must keep their meaning.
    let text = match columns.required_number(2)? {
        0 => TextState::Text {
            canonical: columns
                .canonical_hash(3)?
                .ok_or_else(|| BadRow::new(format!("node {id} has text but no hash")))?,
        },
        1 => TextState::Missing,
        2 => TextState::Unreadable,
        other => {
            return Err(BadRow::new(format!(
                "node {id} has the unknown content kind {other}"
            )));
        }
    };
    let flags = columns.required_number(7)?;
    let approval = match columns.canonical_hash(5)? {
        None => None,
        Some(approved) => Some(ApprovalInputs {
            canonical: approved,
            parent: columns.canonical_hash(6)?,
            by_person: flags & APPROVED_BY_NO_PERSON == 0,
        }),
    };
    let is_condemned = flags & CONDEMNED != 0;
    Ok(StatusInputs {
        id,
        parent: columns.optional_number(1)?.map(parse_node_id).transpose()?,
        text,
        approval,
        condemnation: if is_condemned {
            Some(ObjectionInputs {
                canonical: columns.canonical_hash(8)?,
                kind: decode_objection_kind(flags),
            })
        } else {
            None
        },
        standing,
    })
}

/// Returns the flags column of a footing.
fn footing_flags(footing: &StatusInputs) -> i64 {
    let by_no_person = footing.approval.is_some_and(|approval| !approval.by_person);
    let objection = footing.condemnation.map_or(0, |objection| {
        CONDEMNED
            | match objection.kind {
                ObjectionKind::Rejected => 0,
                ObjectionKind::ChangesRequested => CHANGES_REQUESTED,
                ObjectionKind::RevalidationRequired => REVALIDATION_REQUIRED,
            }
    });
    objection
        | (if by_no_person {
            APPROVED_BY_NO_PERSON
        } else {
            0
        })
}

fn decode_objection_kind(flags: i64) -> ObjectionKind {
    if flags & CHANGES_REQUESTED != 0 {
        ObjectionKind::ChangesRequested
    } else if flags & REVALIDATION_REQUIRED != 0 {
        ObjectionKind::RevalidationRequired
    } else {
        ObjectionKind::Rejected
    }
}

/// Decodes a hash column.
pub(crate) fn decode_digest_column(value: ValueRef<'_>) -> Result<Digest32, BadRow> {
    let ValueRef::Blob(bytes) = value else {
        return Err(BadRow::new("a hash is missing"));
    };
    bytes
        .try_into()
        .map(Digest32)
        .map_err(|_| BadRow::new("a hash has the wrong length"))
}

/// Encodes a hash column.
pub(crate) fn encode_digest_value(digest: Digest32) -> Value {
    Value::Blob(digest.0.to_vec())
}

fn version_value(hash: Option<VersionHash>) -> Value {
    hash.map_or(Value::Null, |hash| encode_digest_value(hash.0))
}

fn canonical_value(hash: Option<CanonicalHash>) -> Value {
    hash.map_or(Value::Null, |hash| encode_digest_value(hash.0))
}

/// Encodes an enum value as its position in `all`; new values are only ever appended there.
fn enum_to_position<T: PartialEq>(all: &[T], value: T) -> i64 {
    all.iter()
        .position(|known| *known == value)
        .and_then(|index| i64::try_from(index).ok())
        .unwrap_or_default()
}

fn enum_from_position<T: Copy>(all: &[T], index: i64) -> Result<T, BadRow> {
    usize::try_from(index)
        .ok()
        .and_then(|index| all.get(index))
        .copied()
        .ok_or_else(|| BadRow::new(format!("{index} is not a known value")))
}
