//! Values on their way to PostgreSQL and back.

use std::error::Error;

use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use crate::tables::rows::BadRow;

/// PostgreSQL's text holds no zero byte; ours may. It is written as this character, which is none, and a `0`.
const MARK: char = '\u{10fffe}';
const MARK_BYTES: [u8; 4] = [0xf4, 0x8f, 0xbf, 0xbe];

/// A value as a statement takes it.
#[derive(Debug)]
pub(super) enum Given<'v> {
    Null,
    Number(i64),
    Text(std::borrow::Cow<'v, [u8]>),
    Bytes(std::borrow::Cow<'v, [u8]>),
}

impl<'v> Given<'v> {
    /// Takes a value over.
    pub(super) fn of(value: &'v dyn rusqlite::ToSql) -> Self {
        match value.to_sql() {
            Ok(ToSqlOutput::Borrowed(value)) => Self::borrowed(value),
            Ok(ToSqlOutput::Owned(value)) => Self::owned(value),
            // Ours are plain values: nothing of them can fail.
            _ => Self::Null,
        }
    }

    fn borrowed(value: ValueRef<'v>) -> Self {
        match value {
            ValueRef::Null | ValueRef::Real(_) => Self::Null,
            ValueRef::Integer(number) => Self::Number(number),
            ValueRef::Text(text) => Self::Text(without_zero(text)),
            ValueRef::Blob(bytes) => Self::Bytes(bytes.into()),
        }
    }

    fn owned(value: Value) -> Self {
        match value {
            Value::Null | Value::Real(_) => Self::Null,
            Value::Integer(number) => Self::Number(number),
            Value::Text(text) => Self::Text(without_zero(text.as_bytes()).into_owned().into()),
            Value::Blob(bytes) => Self::Bytes(bytes.into()),
        }
    }
}

fn holds(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

fn without_zero(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !text.contains(&0) && !holds(text, &MARK_BYTES) {
        return text.into();
    }
    let text = String::from_utf8_lossy(text)
        .replace(MARK, &format!("{MARK}1"))
        .replace('\0', &format!("{MARK}0"));
    text.into_bytes().into()
}

fn with_zero(text: &str) -> String {
    text.replace(&format!("{MARK}0"), "\0")
        .replace(&format!("{MARK}1"), &MARK.to_string())
}

impl ToSql for Given<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Number(number) if *ty == Type::INT8 => {
                out.extend_from_slice(&number.to_be_bytes())
            }
            Self::Number(number) => return Err(format!("{number} is given for a {ty}").into()),
            Self::Text(bytes) | Self::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        Ok(IsNull::No)
    }

    fn accepts(_ty: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

/// A column as it came.
struct Column<'r>(ValueRef<'r>);

impl<'r> FromSql<'r> for Column<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *ty {
            Type::INT8 => ValueRef::Integer(i64::from_be_bytes(raw.try_into()?)),
            Type::INT4 => ValueRef::Integer(i32::from_be_bytes(raw.try_into()?).into()),
            Type::BYTEA => ValueRef::Blob(raw),
            _ => ValueRef::Text(raw),
        }))
    }

    fn from_sql_null(_ty: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(ValueRef::Null))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(
            *ty,
            Type::INT8 | Type::INT4 | Type::BYTEA | Type::TEXT | Type::VARCHAR
        )
    }
}

/// One row of an answer.
pub(crate) struct PostgresRow<'r> {
    row: &'r postgres::Row,
    /// The few texts that hold a zero byte, by column.
    with_zero: Vec<(usize, String)>,
}

impl<'r> PostgresRow<'r> {
    pub(super) fn of(row: &'r postgres::Row) -> Result<Self, BadRow> {
        let mut found = Self {
            row,
            with_zero: Vec::new(),
        };
        let mut odd = Vec::new();
        for index in 0..row.len() {
            if let ValueRef::Text(text) = found.get_ref(index)?
                && text.contains(&MARK_BYTES[0])
                && holds(text, &MARK_BYTES)
            {
                odd.push((index, with_zero(&String::from_utf8_lossy(text))));
            }
        }
        found.with_zero = odd;
        Ok(found)
    }

    pub(crate) fn get_ref(&self, index: usize) -> Result<ValueRef<'_>, BadRow> {
        if let Some((_, text)) = self.with_zero.iter().find(|(column, _)| *column == index) {
            return Ok(ValueRef::Text(text.as_bytes()));
        }
        self.row
            .try_get::<_, Column<'_>>(index)
            .map(|column| column.0)
            .map_err(|error| BadRow::new(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::{with_zero, without_zero};

    #[test]
    fn zero_bytes_come_back() {
        for text in [
            "",
            "plain",
            "a\0b",
            "\0\0",
            "\u{10fffe}0",
            "\u{10fffe}",
            "\0\u{10fffe}1\0",
        ] {
            let kept = String::from_utf8(without_zero(text.as_bytes()).into_owned()).unwrap();
            assert!(!kept.contains('\0'));
            assert_eq!(with_zero(&kept), text, "{text:?}");
        }
    }
}
