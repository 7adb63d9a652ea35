//! Conversion of values between the shared SQL layer (rusqlite types) and PostgreSQL.
//!
//! Statements are written once for both engines, with SQLite's value types; floating point numbers
//! do not occur in them.

use std::error::Error;

use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use crate::tables::rows::BadRow;

/// Escape character for NUL bytes, which PostgreSQL's `TEXT` rejects and plan texts may contain: a
/// noncharacter, followed by `0` for NUL or `1` for itself.
const ESCAPE_CHAR: char = '\u{10fffe}';
const ESCAPE_BYTES: [u8; 4] = [0xf4, 0x8f, 0xbf, 0xbe];

/// A parameter of a statement.
#[derive(Debug)]
pub(super) enum BoundValue<'v> {
    Null,
    Number(i64),
    Text(std::borrow::Cow<'v, [u8]>),
    Bytes(std::borrow::Cow<'v, [u8]>),
}

impl<'v> BoundValue<'v> {
    /// Converts a parameter; texts without NUL are borrowed.
    pub(super) fn from_sql_value(value: &'v dyn rusqlite::ToSql) -> Self {
        match value.to_sql() {
            Ok(ToSqlOutput::Borrowed(value)) => Self::from_borrowed(value),
            Ok(ToSqlOutput::Owned(value)) => Self::from_owned(value),
            // Conversion fails only for types with custom `ToSql`; all parameters are plain values.
            _ => Self::Null,
        }
    }

    fn from_borrowed(value: ValueRef<'v>) -> Self {
        match value {
            ValueRef::Null | ValueRef::Real(_) => Self::Null,
            ValueRef::Integer(number) => Self::Number(number),
            ValueRef::Text(text) => Self::Text(escape_nul_bytes(text)),
            ValueRef::Blob(bytes) => Self::Bytes(bytes.into()),
        }
    }

    fn from_owned(value: Value) -> Self {
        match value {
            Value::Null | Value::Real(_) => Self::Null,
            Value::Integer(number) => Self::Number(number),
            Value::Text(text) => Self::Text(escape_nul_bytes(text.as_bytes()).into_owned().into()),
            Value::Blob(bytes) => Self::Bytes(bytes.into()),
        }
    }
}

fn contains_bytes(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

fn escape_nul_bytes(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !text.contains(&0) && !contains_bytes(text, &ESCAPE_BYTES) {
        return text.into();
    }
    // The escape character first, or the escapes of NUL would be escaped again.
    let text = String::from_utf8_lossy(text)
        .replace(ESCAPE_CHAR, &format!("{ESCAPE_CHAR}1"))
        .replace('\0', &format!("{ESCAPE_CHAR}0"));
    text.into_bytes().into()
}

fn unescape_nul_bytes(text: &str) -> String {
    text.replace(&format!("{ESCAPE_CHAR}0"), "\0")
        .replace(&format!("{ESCAPE_CHAR}1"), &ESCAPE_CHAR.to_string())
}

impl ToSql for BoundValue<'_> {
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
            // The server would misread the eight bytes as another type.
            Self::Number(number) => {
                return Err(
                    format!("cannot bind the number {number} to a column of type {ty}").into(),
                );
            }
            Self::Text(bytes) | Self::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        Ok(IsNull::No)
    }

    // Every type, because texts are bound to columns of several types; numbers are checked above.
    fn accepts(_ty: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

/// A column in its wire format, not copied.
struct RawColumn<'r>(ValueRef<'r>);

impl<'r> FromSql<'r> for RawColumn<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *ty {
            Type::INT8 => ValueRef::Integer(i64::from_be_bytes(raw.try_into()?)),
            // Columns are BIGINT; INT comes from casts in our own statements.
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

/// One row of a query result.
pub(crate) struct PostgresRow<'r> {
    row: &'r postgres::Row,
    /// The few texts with escaped NUL bytes, unescaped, by column. All others are borrowed.
    with_zero: Vec<(usize, String)>,
}

impl<'r> PostgresRow<'r> {
    pub(super) fn decode_row(row: &'r postgres::Row) -> Result<Self, BadRow> {
        let mut found = Self {
            row,
            with_zero: Vec::new(),
        };
        let mut odd = Vec::new();
        for index in 0..row.len() {
            // The single byte first: it is rare in text, and this runs for every column of every
            // row.
            if let ValueRef::Text(text) = found.get_ref(index)?
                && text.contains(&ESCAPE_BYTES[0])
                && contains_bytes(text, &ESCAPE_BYTES)
            {
                odd.push((index, unescape_nul_bytes(&String::from_utf8_lossy(text))));
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
            .try_get::<_, RawColumn<'_>>(index)
            .map(|column| column.0)
            .map_err(|error| BadRow::new(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::{escape_nul_bytes, unescape_nul_bytes};

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
            let kept = String::from_utf8(escape_nul_bytes(text.as_bytes()).into_owned()).unwrap();
            assert!(!kept.contains('\0'));
            assert_eq!(unescape_nul_bytes(&kept), text, "{text:?}");
        }
    }
}
