//! Mapping between nodes and table rows.
//!
//! The columns form four groups, each with its own checksum: the inputs of the status (footing),
//! the status (table `standing`), the descriptive columns (words), and the child total. A cascade
//! reads the first two groups and writes only the second, a few bytes per node.

use std::rc::Rc;

use domain::approval::Approval;
use domain::ids::{CanonicalHash, Digest32, NodeId, Principal, VersionHash};
use domain::node::{Cause, Content, Description, Node, ParentVersion, Progress, Standing, Status};
use domain::ports::StoreFault;
use domain::status::{ApprovalFooting, Footing, TextFooting};
use domain::time::Timestamp;
use rusqlite::types::{Value, ValueRef};

use super::sql::Row;
use super::sums::{Part, Sum, share, sum_of};

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
pub(crate) const JOINED: &str = "node CROSS JOIN standing ON standing.node = node.id";

/// Columns of footing and status, in the order [`read_footing`] expects.
pub(crate) const NARROW: &str = concat!(footing_columns!(), ", status, cause, since, standing_sum");

/// All columns of a node and its status, in the order [`read_node`] expects.
pub(crate) const WIDE: &str = concat!(
    footing_columns!(),
    ", status, cause, since, standing_sum, ",
    words_columns!()
);

/// Columns of table `node` without the child total, in the order of [`NodeValues`].
pub(crate) const STORED: &str = concat!(footing_columns!(), ", ", words_columns!());

/// Number of columns in [`STORED`].
pub(crate) const STORED_WIDTH: usize = WORDS_SUM - STANDING_WIDTH + 1;

/// Flags in column `is_condemned`, which belongs to the footing, so that a cascade need not read
/// the descriptive columns.
///
/// Rows of earlier versions lack the second flag; `application::record_policy` rewrites them before
/// it is used.
const CONDEMNED: i64 = 1;
const APPROVED_BY_NO_PERSON: i64 = 2;

const FOOTING_SUM: usize = 9;
const STATUS: usize = 10;
const STANDING_SUM: usize = 13;
const STANDING_WIDTH: usize = 4;
const LINEAGE: usize = 14;
const WORDS_SUM: usize = 36;

/// A cause as stored JSON and parsed; the checksum covers the JSON.
pub(crate) struct CauseRow {
    pub(crate) body: String,
    pub(crate) cause: Cause,
}

/// Looks up a cause by id.
pub(crate) type Causes<'c> = &'c dyn Fn(i64) -> Result<Rc<CauseRow>, BadRow>;

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
    pub(crate) fn of(node: &Node, lineage: &[u8]) -> Result<Self, StoreFault> {
        let footing = node.footing();
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
        let (canonical, basis) = match footing.text {
            TextFooting::Text { canonical, basis } => (Some(canonical), basis),
            TextFooting::Missing | TextFooting::Unreadable => (None, None),
        };
        let mut values = vec![
            Value::Integer(node.id.0.into()),
            node.parent
                .map_or(Value::Null, |parent| Value::Integer(parent.0.into())),
            Value::Integer(content),
            canonical_value(canonical),
            canonical_value(basis),
            canonical_value(footing.approval.map(|approval| approval.canonical)),
            canonical_value(footing.approval.and_then(|approval| approval.parent)),
            Value::Integer(flags_of(&footing)),
            canonical_value(footing.condemnation.flatten()),
        ];
        values.push(Value::Integer(sum_of(&values)));
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
            version_value(node.content.version()),
            version_value(node.content.basis().map(|basis| basis.version)),
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
                Some(approval) => list(&approval.warnings)?,
                None => Value::Null,
            },
            match &node.condemnation {
                Some(condemnation) => json(serde_json::to_string(condemnation))?,
                None => Value::Null,
            },
            Value::Integer(position(&Progress::ALL, node.progress)),
            Value::Integer(node.created_at.as_millis()),
            Value::Integer(node.updated_at.as_millis()),
        ]);
        // The id is part of every group's checksum, so that groups of two rows cannot be swapped.
        let words = sum_of(std::iter::once(&values[0]).chain(&values[FOOTING_SUM + 1..]));
        values.push(Value::Integer(words));
        Ok(Self { values })
    }

    /// Returns the row's contribution to the table's total.
    pub(crate) fn share(&self, id: NodeId) -> i64 {
        let sum = |index: usize| match self.values[index] {
            Value::Integer(sum) => sum,
            _ => 0,
        };
        share(Part::Footing, id.0, sum(FOOTING_SUM))
            ^ share(Part::Words, id.0, sum(STORED_WIDTH - 1))
    }
}

/// Returns the JSON of a status's cause.
pub(crate) fn cause_body(standing: &Standing) -> Result<Option<String>, StoreFault> {
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
pub(crate) fn standing_values(standing: &Standing) -> (i64, Option<i64>) {
    (
        position(&Status::ALL, standing.status),
        standing.since.map(Timestamp::as_millis),
    )
}

/// Returns the checksum of a node's status, including its cause's JSON.
pub(crate) fn standing_sum(
    id: NodeId,
    standing: &Standing,
    cause: Option<&str>,
    sum: &mut Sum,
) -> i64 {
    let (status, since) = standing_values(standing);
    sum.add(ValueRef::Integer(id.0.into()));
    sum.add(ValueRef::Integer(status));
    sum.add(cause.map_or(ValueRef::Null, |body| ValueRef::Text(body.as_bytes())));
    sum.add(since.map_or(ValueRef::Null, ValueRef::Integer));
    sum.take()
}

/// The values of a row, each fetched once: the call into SQLite costs more than using the value.
struct Columns<'r, const WIDTH: usize>([ValueRef<'r>; WIDTH]);

impl<'r, const WIDTH: usize> Columns<'r, WIDTH> {
    fn of(row: &'r Row<'_>) -> Result<Self, BadRow> {
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

    fn number(&self, index: usize) -> Result<i64, BadRow> {
        self.optional_number(index)?
            .ok_or_else(|| BadRow::new(format!("column {index} is empty")))
    }

    fn id(&self) -> Result<NodeId, BadRow> {
        node_id(self.number(0)?)
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

    fn text(&self, index: usize) -> Result<String, BadRow> {
        self.optional_text(index)?
            .map(str::to_owned)
            .ok_or_else(|| BadRow::new(format!("column {index} is empty")))
    }

    fn json<T: serde::de::DeserializeOwned>(&self, index: usize) -> Result<Option<T>, BadRow> {
        Ok(self
            .optional_text(index)?
            .map(serde_json::from_str)
            .transpose()?)
    }

    fn version(&self, index: usize) -> Result<VersionHash, BadRow> {
        Ok(VersionHash(digest(self.0[index])?))
    }

    fn canonical(&self, index: usize) -> Result<Option<CanonicalHash>, BadRow> {
        match self.0[index] {
            ValueRef::Null => Ok(None),
            value => Ok(Some(CanonicalHash(digest(value)?))),
        }
    }
}

fn node_id(number: i64) -> Result<NodeId, BadRow> {
    u32::try_from(number)
        .map(NodeId)
        .map_err(|_| BadRow::new(format!("{number} is not a node id")))
}

/// Decodes a whole node, verifying its checksums; also returns its contribution to the table's
/// total.
pub(crate) fn read_node(
    row: &Row<'_>,
    sum: &mut Sum,
    causes: Causes<'_>,
) -> Result<(Node, i64), BadRow> {
    let columns = Columns::<{ WORDS_SUM + 1 }>::of(row)?;
    let footing = footing_in(&columns, sum, causes)?;
    sum.add(columns.0[0]);
    columns.0[LINEAGE..WORDS_SUM]
        .iter()
        .for_each(|value| sum.add(*value));
    let words_sum = columns.number(WORDS_SUM)?;
    if sum.take() != words_sum {
        return Err(BadRow::new(format!(
            "checksum mismatch in the columns of node {}",
            footing.id
        )));
    }
    let lineage = columns.0[LINEAGE]
        .as_blob()
        .map_err(|error| BadRow::new(error.to_string()))?;
    // Subtree scans depend on the lineage, so it is checked against the id as well.
    if !lineage.ends_with(&footing.id.0.to_be_bytes()) {
        return Err(BadRow::new(format!(
            "node {} has the lineage of another node",
            footing.id
        )));
    }
    let share = share(Part::Footing, footing.id.0, columns.number(FOOTING_SUM)?)
        ^ share(Part::Standing, footing.id.0, columns.number(STANDING_SUM)?)
        ^ share(Part::Words, footing.id.0, words_sum);
    let parent_version = |canonical: Option<CanonicalHash>, index: usize| match canonical {
        None => Ok(None),
        Some(canonical) => columns
            .version(index)
            .map(|version| Some(ParentVersion { version, canonical })),
    };
    let content = match footing.text {
        TextFooting::Text { canonical, basis } => Content::Text {
            // Numbers are positions in `NODE_COLUMNS`.
            version: columns.version(25)?,
            canonical,
            basis: parent_version(basis, 26)?,
        },
        TextFooting::Missing => Content::Missing,
        TextFooting::Unreadable => Content::Unreadable {
            why: columns.optional_text(24)?.unwrap_or_default().to_owned(),
        },
    };
    let approval = match footing.approval {
        None => None,
        Some(approval) => Some(Approval::from_record(
            columns.version(27)?,
            approval.canonical,
            parent_version(approval.parent, 28)?,
            Principal::from(columns.text(29)?.as_str()),
            Timestamp::from_millis(columns.number(30)?),
            columns.json(31)?.unwrap_or_default(),
        )),
    };
    let node = Node {
        id: footing.id,
        parent: footing.parent,
        profile: columns.text(15)?,
        level: columns.text(16)?,
        alias: columns.text(17)?,
        order: columns.number(18)?,
        path: columns.optional_text(19)?.map(str::to_owned),
        description: Description {
            title: columns.optional_text(20)?.map(str::to_owned),
            needs: columns.json(21)?.unwrap_or_default(),
            relies_on: columns.json(22)?.unwrap_or_default(),
            work: columns.json(23)?,
        },
        content,
        approval,
        condemnation: columns.json(32)?,
        progress: from_position(&Progress::ALL, columns.number(33)?)?,
        standing: footing.standing,
        created_at: Timestamp::from_millis(columns.number(34)?),
        updated_at: Timestamp::from_millis(columns.number(35)?),
    };
    Ok((node, share))
}

/// Decodes a footing and its status, verifying their checksums.
pub(crate) fn read_footing(
    row: &Row<'_>,
    sum: &mut Sum,
    causes: Causes<'_>,
) -> Result<Footing, BadRow> {
    footing_in(&Columns::<{ STANDING_SUM + 1 }>::of(row)?, sum, causes)
}

fn footing_in<const WIDTH: usize>(
    columns: &Columns<'_, WIDTH>,
    sum: &mut Sum,
    causes: Causes<'_>,
) -> Result<Footing, BadRow> {
    let id = columns.id()?;
    columns.0[..FOOTING_SUM]
        .iter()
        .for_each(|value| sum.add(*value));
    if sum.take() != columns.number(FOOTING_SUM)? {
        return Err(BadRow::new(format!(
            "checksum mismatch in the footing of node {id}"
        )));
    }
    let cause = columns
        .optional_number(STATUS + 1)?
        .map(causes)
        .transpose()?;
    let standing = Standing {
        status: from_position(&Status::ALL, columns.number(STATUS)?)?,
        cause: cause.as_ref().map(|kept| kept.cause.clone()),
        since: columns
            .optional_number(STATUS + 2)?
            .map(Timestamp::from_millis),
    };
    let body = cause.as_ref().map(|kept| kept.body.as_str());
    if standing_sum(id, &standing, body, sum) != columns.number(STANDING_SUM)? {
        return Err(BadRow::new(format!(
            "checksum mismatch in the status of node {id}"
        )));
    }
    // The numbers are stored (see `from_node`) and must keep their meaning.
    let text = match columns.number(2)? {
        0 => TextFooting::Text {
            canonical: columns
                .canonical(3)?
                .ok_or_else(|| BadRow::new(format!("node {id} has text but no hash")))?,
            basis: columns.canonical(4)?,
        },
        1 => TextFooting::Missing,
        2 => TextFooting::Unreadable,
        other => {
            return Err(BadRow::new(format!(
                "node {id} has the unknown content kind {other}"
            )));
        }
    };
    let flags = columns.number(7)?;
    let approval = match columns.canonical(5)? {
        None => None,
        Some(approved) => Some(ApprovalFooting {
            canonical: approved,
            parent: columns.canonical(6)?,
            by_person: flags & APPROVED_BY_NO_PERSON == 0,
        }),
    };
    let is_condemned = flags & CONDEMNED != 0;
    Ok(Footing {
        id,
        parent: columns.optional_number(1)?.map(node_id).transpose()?,
        text,
        approval,
        condemnation: if is_condemned {
            Some(columns.canonical(8)?)
        } else {
            None
        },
        standing,
    })
}

/// Returns the flags column of a footing.
fn flags_of(footing: &Footing) -> i64 {
    let by_no_person = footing.approval.is_some_and(|approval| !approval.by_person);
    (if footing.condemnation.is_some() {
        CONDEMNED
    } else {
        0
    }) | (if by_no_person {
        APPROVED_BY_NO_PERSON
    } else {
        0
    })
}

/// Decodes a hash column.
pub(crate) fn digest(value: ValueRef<'_>) -> Result<Digest32, BadRow> {
    let ValueRef::Blob(bytes) = value else {
        return Err(BadRow::new("a hash is missing"));
    };
    bytes
        .try_into()
        .map(Digest32)
        .map_err(|_| BadRow::new("a hash has the wrong length"))
}

/// Encodes a hash column.
pub(crate) fn blob(digest: Digest32) -> Value {
    Value::Blob(digest.0.to_vec())
}

fn version_value(hash: Option<VersionHash>) -> Value {
    hash.map_or(Value::Null, |hash| blob(hash.0))
}

fn canonical_value(hash: Option<CanonicalHash>) -> Value {
    hash.map_or(Value::Null, |hash| blob(hash.0))
}

/// Encodes an enum value as its position in `all`; new values are only ever appended there.
fn position<T: PartialEq>(all: &[T], value: T) -> i64 {
    all.iter()
        .position(|known| *known == value)
        .and_then(|index| i64::try_from(index).ok())
        .unwrap_or_default()
}

fn from_position<T: Copy>(all: &[T], index: i64) -> Result<T, BadRow> {
    usize::try_from(index)
        .ok()
        .and_then(|index| all.get(index))
        .copied()
        .ok_or_else(|| BadRow::new(format!("{index} is not a known value")))
}
