//! Nodes as rows of the database.
//!
//! The columns come in four groups, each with its own sum: what a status rests on (footing), the
//! status (standing, a table of its own), the words, and the total over the children. A cascade reads
//! the first two and writes only the second.

use std::rc::Rc;

use domain::approval::Approval;
use domain::ids::{CanonicalHash, Digest32, NodeId, Principal, VersionHash};
use domain::node::{Cause, Content, Description, Node, ParentVersion, Progress, Standing, Status};
use domain::ports::StoreFault;
use domain::status::{ApprovalFooting, Footing, TextFooting};
use domain::time::Timestamp;
use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};

use super::sums::{Part, Sum, share, sum_of};

macro_rules! footing_columns {
    () => {
        "id, parent, content, canonical, basis_canonical, approved, approved_parent, is_condemned, condemned, footing_sum"
    };
}
macro_rules! words_columns {
    () => {
        "lineage, profile, level, alias, ord, path, title, needs, relies_on, content_note, version, basis_version, \
         approved_version, approved_parent_version, approved_by, approved_at, approval_warnings, condemnation, \
         progress, created_at, updated_at, words_sum"
    };
}

/// Where nodes and their standings are read from, nodes first.
pub(super) const JOINED: &str = "node CROSS JOIN standing ON standing.node = node.id";

/// Columns of a footing and a standing, in the order [`read_footing`] expects.
pub(super) const NARROW: &str = concat!(footing_columns!(), ", status, cause, since, standing_sum");

/// All columns of a node and its standing, in the order [`read_node`] expects.
pub(super) const WIDE: &str = concat!(footing_columns!(), ", status, cause, since, standing_sum, ", words_columns!());

/// The columns of the table `node` but the children's, in the order of [`NodeValues`].
pub(super) const STORED: &str = concat!(footing_columns!(), ", ", words_columns!());

/// How many columns [`STORED`] has.
pub(super) const STORED_WIDTH: usize = WORDS_SUM - STANDING_WIDTH + 1;

const FOOTING_SUM: usize = 9;
const STATUS: usize = 10;
const STANDING_SUM: usize = 13;
const STANDING_WIDTH: usize = 4;
const LINEAGE: usize = 14;
const WORDS_SUM: usize = 35;

/// A cause as it is kept, and as it is meant.
pub(super) struct CauseRow {
    pub(super) body: String,
    pub(super) cause: Cause,
}

/// Looks a kept cause up.
pub(super) type Causes<'c> = &'c dyn Fn(i64) -> Result<Rc<CauseRow>, BadRow>;

/// A row that does not fit its sum, or cannot be read.
#[derive(Debug)]
pub(super) struct BadRow(String);

impl BadRow {
    pub(super) fn new(what: String) -> Self {
        Self(what)
    }
}

impl From<rusqlite::Error> for BadRow {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for BadRow {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<BadRow> for StoreFault {
    fn from(bad: BadRow) -> Self {
        Self::Damaged { what: bad.0 }
    }
}

/// The values of a node's columns.
pub(super) struct NodeValues {
    pub(super) values: Vec<Value>,
}

impl NodeValues {
    pub(super) fn of(node: &Node, lineage: &[u8]) -> Result<Self, StoreFault> {
        let footing = node.footing();
        let json_fault = |error: serde_json::Error| StoreFault::Io {
            action: format!("cannot write `{}` as JSON", node.alias),
            source: error.into(),
        };
        let json = |text: Result<String, serde_json::Error>| text.map(Value::Text).map_err(json_fault);
        // Most lists are empty, and an empty one need not be read back.
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
            node.parent.map_or(Value::Null, |parent| Value::Integer(parent.0.into())),
            Value::Integer(content),
            canonical_value(canonical),
            canonical_value(basis),
            canonical_value(footing.approval.map(|approval| approval.canonical)),
            canonical_value(footing.approval.and_then(|approval| approval.parent)),
            Value::Integer(i64::from(footing.condemnation.is_some())),
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
            node.description.title.clone().map_or(Value::Null, Value::Text),
            list(&node.description.needs)?,
            list(&node.description.relies_on)?,
            note,
            version_value(node.content.version()),
            version_value(node.content.basis().map(|basis| basis.version)),
            version_value(approval.map(|approval| approval.version)),
            version_value(approval.and_then(|approval| approval.parent).map(|parent| parent.version)),
            approval.map_or(Value::Null, |approval| Value::Text(approval.by.to_string())),
            approval.map_or(Value::Null, |approval| Value::Integer(approval.at.as_millis())),
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
        let words = sum_of(std::iter::once(&values[0]).chain(&values[FOOTING_SUM + 1..]));
        values.push(Value::Integer(words));
        Ok(Self { values })
    }

    /// Returns what this row adds to the table's total.
    pub(super) fn share(&self, id: NodeId) -> i64 {
        let sum = |index: usize| match self.values[index] {
            Value::Integer(sum) => sum,
            _ => 0,
        };
        share(Part::Footing, id.0, sum(FOOTING_SUM)) ^ share(Part::Words, id.0, sum(STORED_WIDTH - 1))
    }
}

/// Returns a cause as it is kept.
pub(super) fn cause_body(standing: &Standing) -> Result<Option<String>, StoreFault> {
    standing
        .cause
        .as_ref()
        .map(serde_json::to_string)
        .transpose()
        .map_err(|error| StoreFault::Io { action: "cannot write a cause as JSON".to_owned(), source: error.into() })
}

/// Returns the values of `status` and `since`.
pub(super) fn standing_values(standing: &Standing) -> (i64, Option<i64>) {
    (position(&Status::ALL, standing.status), standing.since.map(Timestamp::as_millis))
}

/// Returns the sum of a node's standing, with its cause's words.
pub(super) fn standing_sum(id: NodeId, standing: &Standing, cause: Option<&str>, sum: &mut Sum) -> i64 {
    let (status, since) = standing_values(standing);
    sum.add(ValueRef::Integer(id.0.into()));
    sum.add(ValueRef::Integer(status));
    sum.add(cause.map_or(ValueRef::Null, |body| ValueRef::Text(body.as_bytes())));
    sum.add(since.map_or(ValueRef::Null, ValueRef::Integer));
    sum.take()
}

/// Reads a whole node, checking its sums. Returns what it adds to the table's total with it.
pub(super) fn read_node(row: &Row<'_>, causes: Causes<'_>) -> Result<(Node, i64), BadRow> {
    let mut sum = Sum::default();
    let footing = read_footing(row, &mut sum, causes)?;
    sum.add(row.get_ref(0)?);
    for index in LINEAGE..WORDS_SUM {
        sum.add(row.get_ref(index)?);
    }
    let words_sum: i64 = row.get(WORDS_SUM)?;
    if sum.take() != words_sum {
        return Err(BadRow(format!("the words of node {} do not fit their sum", footing.id)));
    }
    let lineage = row.get_ref(LINEAGE)?.as_blob().map_err(|error| BadRow(error.to_string()))?;
    if !lineage.ends_with(&footing.id.0.to_be_bytes()) {
        return Err(BadRow(format!("node {} has a lineage that is not its own", footing.id)));
    }
    let share = share(Part::Footing, footing.id.0, row.get(FOOTING_SUM)?)
        ^ share(Part::Standing, footing.id.0, row.get(STANDING_SUM)?)
        ^ share(Part::Words, footing.id.0, words_sum);
    let parent_version = |canonical: Option<CanonicalHash>, index: usize| match canonical {
        None => Ok(None),
        Some(canonical) => version_column(row, index).map(|version| Some(ParentVersion { version, canonical })),
    };
    let content = match footing.text {
        TextFooting::Text { canonical, basis } => {
            Content::Text { version: version_column(row, 24)?, canonical, basis: parent_version(basis, 25)? }
        }
        TextFooting::Missing => Content::Missing,
        TextFooting::Unreadable => Content::Unreadable { why: row.get::<_, Option<String>>(23)?.unwrap_or_default() },
    };
    let approval = match footing.approval {
        None => None,
        Some(approval) => Some(Approval {
            version: version_column(row, 26)?,
            canonical: approval.canonical,
            parent: parent_version(approval.parent, 27)?,
            by: Principal::from(row.get_ref(28)?.as_str().map_err(|error| BadRow(error.to_string()))?),
            at: Timestamp::from_millis(row.get(29)?),
            warnings: json_column(row, 30)?.unwrap_or_default(),
        }),
    };
    let node = Node {
        id: footing.id,
        parent: footing.parent,
        profile: row.get(15)?,
        level: row.get(16)?,
        alias: row.get(17)?,
        order: row.get(18)?,
        path: row.get(19)?,
        description: Description {
            title: row.get(20)?,
            needs: json_column(row, 21)?.unwrap_or_default(),
            relies_on: json_column(row, 22)?.unwrap_or_default(),
        },
        content,
        approval,
        condemnation: json_column(row, 31)?,
        progress: from_position(&Progress::ALL, row.get(32)?)?,
        standing: footing.standing,
        created_at: Timestamp::from_millis(row.get(33)?),
        updated_at: Timestamp::from_millis(row.get(34)?),
    };
    Ok((node, share))
}

/// Reads what a status rests on, checking its sums.
pub(super) fn read_footing(row: &Row<'_>, sum: &mut Sum, causes: Causes<'_>) -> Result<Footing, BadRow> {
    let id = NodeId(row.get(0)?);
    for index in 0..FOOTING_SUM {
        sum.add(row.get_ref(index)?);
    }
    if sum.take() != row.get::<_, i64>(FOOTING_SUM)? {
        return Err(BadRow(format!("the footing of node {id} does not fit its sum")));
    }
    let cause = row.get::<_, Option<i64>>(STATUS + 1)?.map(causes).transpose()?;
    let standing = Standing {
        status: from_position(&Status::ALL, row.get(STATUS)?)?,
        cause: cause.as_ref().map(|kept| kept.cause.clone()),
        since: row.get::<_, Option<i64>>(STATUS + 2)?.map(Timestamp::from_millis),
    };
    let body = cause.as_ref().map(|kept| kept.body.as_str());
    if standing_sum(id, &standing, body, sum) != row.get::<_, i64>(STANDING_SUM)? {
        return Err(BadRow(format!("the status of node {id} does not fit its sum")));
    }
    let text = match row.get::<_, i64>(2)? {
        0 => TextFooting::Text {
            canonical: canonical(row, 3)?.ok_or_else(|| BadRow(format!("node {id} has text but no hash")))?,
            basis: canonical(row, 4)?,
        },
        1 => TextFooting::Missing,
        2 => TextFooting::Unreadable,
        other => return Err(BadRow(format!("node {id} has content of kind {other}"))),
    };
    let approval = match canonical(row, 5)? {
        None => None,
        Some(approved) => Some(ApprovalFooting { canonical: approved, parent: canonical(row, 6)? }),
    };
    let is_condemned: bool = row.get(7)?;
    Ok(Footing {
        id,
        parent: row.get::<_, Option<u32>>(1)?.map(NodeId),
        text,
        approval,
        condemnation: if is_condemned { Some(canonical(row, 8)?) } else { None },
        standing,
    })
}

fn version_column(row: &Row<'_>, index: usize) -> Result<VersionHash, BadRow> {
    Ok(VersionHash(digest(row.get_ref(index)?)?))
}

fn json_column<T: serde::de::DeserializeOwned>(row: &Row<'_>, index: usize) -> Result<Option<T>, BadRow> {
    match row.get_ref(index)? {
        ValueRef::Null => Ok(None),
        ValueRef::Text(bytes) => Ok(Some(serde_json::from_slice(bytes)?)),
        _ => Err(BadRow(format!("column {index} holds no text"))),
    }
}

fn canonical(row: &Row<'_>, index: usize) -> Result<Option<CanonicalHash>, BadRow> {
    match row.get_ref(index)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(CanonicalHash(digest(value)?))),
    }
}

/// Reads a hash column.
pub(super) fn digest(value: ValueRef<'_>) -> Result<Digest32, BadRow> {
    let ValueRef::Blob(bytes) = value else { return Err(BadRow("a hash is missing".to_owned())) };
    bytes.try_into().map(Digest32).map_err(|_| BadRow("a hash has the wrong length".to_owned()))
}

/// Writes a hash column.
pub(super) fn blob(digest: Digest32) -> Value {
    Value::Blob(digest.0.to_vec())
}

fn version_value(hash: Option<VersionHash>) -> Value {
    hash.map_or(Value::Null, |hash| blob(hash.0))
}

fn canonical_value(hash: Option<CanonicalHash>) -> Value {
    hash.map_or(Value::Null, |hash| blob(hash.0))
}

fn position<T: PartialEq>(all: &[T], value: T) -> i64 {
    all.iter().position(|known| *known == value).and_then(|index| i64::try_from(index).ok()).unwrap_or_default()
}

fn from_position<T: Copy>(all: &[T], index: i64) -> Result<T, BadRow> {
    usize::try_from(index)
        .ok()
        .and_then(|index| all.get(index))
        .copied()
        .ok_or_else(|| BadRow(format!("{index} is no known word")))
}
