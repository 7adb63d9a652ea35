//! Declaration of settings: [`setting_table!`] turns one list of fields into the struct, its
//! defaults, and the static table behind the reference page, the JSON Schema and the environment.
//!
//! Modelled on rust-analyzer's `config_data!`. It expands to plain structs and constants: every
//! hook parses the settings, so nothing is built or sorted at run time.

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Settings;

/// Values that a setting accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    Boolean,
    Integer { min: u64, max: u64 },
    Text,
    TextList,
    OneOf(&'static [&'static str]),
}

impl SettingKind {
    /// Restricts the range of an integer.
    pub(crate) const fn within(self, range: RangeInclusive<u64>) -> Self {
        match self {
            Self::Integer { .. } => Self::Integer {
                min: *range.start(),
                max: *range.end(),
            },
            other => other,
        }
    }

    /// Parses a value from an environment variable or a command line.
    fn parse(self, text: &str) -> Result<Value, String> {
        let trimmed = text.trim();
        match self {
            // Digits too, as is usual in environment variables.
            Self::Boolean => match trimmed.to_lowercase().as_str() {
                "true" | "1" => Ok(true.into()),
                "false" | "0" => Ok(false.into()),
                _ => Err(refuse_word(text, &["true", "1", "false", "0"])),
            },
            Self::Integer { .. } => {
                let number: u64 = trimmed
                    .parse()
                    .map_err(|_| format!("`{text}` is not a number"))?;
                self.check(&number.into())?;
                Ok(number.into())
            }
            Self::Text => Ok(trimmed.into()),
            Self::TextList => Ok(parse_list(trimmed)?.into()),
            Self::OneOf(words) => {
                let word = trimmed.to_lowercase();
                match words.contains(&word.as_str()) {
                    true => Ok(word.into()),
                    false => Err(refuse_word(text, words)),
                }
            }
        }
    }

    /// Checks the range of a number; other kinds are checked by their types.
    fn check(self, value: &Value) -> Result<(), String> {
        match (self, value.as_u64()) {
            (Self::Integer { min, max }, Some(number)) if !(min..=max).contains(&number) => {
                Err(format!("`{number}` is not allowed: expected {self}"))
            }
            _ => Ok(()),
        }
    }
}

/// The description of the allowed values, for settings that do not give a more precise one.
impl std::fmt::Display for SettingKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Boolean => f.write_str("`true`, `false`"),
            // The upper limit of an unrestricted number is its type's, which tells a user nothing.
            Self::Integer { min: 0, max } if *max >= u64::from(u32::MAX) => f.write_str("a number"),
            Self::Integer { min, max } if *max >= u64::from(u32::MAX) => {
                write!(f, "a number from {min}")
            }
            Self::Integer { min, max } => write!(f, "a number from {min} to {max}"),
            Self::Text => f.write_str("text"),
            Self::TextList => f.write_str("a list of words"),
            Self::OneOf(words) => f.write_str(&quote_words(words)),
        }
    }
}

fn quote_words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

fn refuse_word(text: &str, words: &[&str]) -> String {
    let near = crate::suggest::nearest_words(text.trim(), words.iter().copied(), 1);
    let hint = near
        .first()
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    format!(
        "`{text}` is not allowed: expected one of {}{hint}",
        quote_words(words)
    )
}

/// Parses `one, two`, or the same as an array: `["one", "two"]`, for words that contain commas.
fn parse_list(text: &str) -> Result<Vec<String>, String> {
    if text.starts_with('[') {
        return serde_json::from_str(text)
            .map_err(|_| format!("`{text}` is not a list: expected [\"one\", \"two\"]"));
    }
    Ok(text
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect())
}

/// A type that a setting may have.
pub(crate) trait SettingType: DeserializeOwned {
    const KIND: SettingKind;
}

macro_rules! setting_types {
    ($($type:ty: $kind:expr),+ $(,)?) => {
        $(impl SettingType for $type { const KIND: SettingKind = $kind; })+
    };
}

const fn integer_up_to(max: u64) -> SettingKind {
    SettingKind::Integer { min: 0, max }
}

setting_types! {
    bool: SettingKind::Boolean,
    // Widened by `as`, because `From` is not const.
    u8: integer_up_to(u8::MAX as u64),
    u32: integer_up_to(u32::MAX as u64),
    u64: integer_up_to(u64::MAX),
    usize: integer_up_to(usize::MAX as u64),
    String: SettingKind::Text,
    super::DatabaseUrl: SettingKind::Text,
    Vec<String>: SettingKind::TextList,
}

/// One setting: its name, documentation, allowed values and environment variables.
#[derive(Clone, Copy, Debug)]
pub struct SettingKey {
    /// The dotted name: `policy.gates.loc`.
    pub name: &'static str,
    pub text: &'static str,
    pub kind: SettingKind,
    /// Environment variables that set it: the current name first, then older aliases.
    pub environment: &'static [&'static str],
    /// Description of the allowed values, or empty if `kind` says it all.
    pub(crate) allowed_text: &'static str,
    pub(crate) set: fn(&mut Settings, &str) -> Result<(), String>,
}

impl SettingKey {
    /// Describes the allowed values.
    #[must_use]
    pub fn allowed(&self) -> String {
        match self.allowed_text {
            "" => self.kind.to_string(),
            text => text.to_owned(),
        }
    }

    /// Parses a value for this setting, as it is written in `config.toml`.
    ///
    /// # Errors
    /// When the value is not allowed. Rules that involve other settings are not checked.
    pub fn parse_value(&self, text: &str) -> Result<Value, String> {
        self.kind.parse(text)
    }

    /// Checks a value that already has the right type.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check_value(&self, value: &Value) -> Result<(), String> {
        self.kind.check(value)
    }

    /// Returns the value of this setting in settings that were serialised as JSON.
    #[must_use]
    pub fn value_in<'v>(&self, settings: &'v Value) -> &'v Value {
        let mut parts = self.name.split('.');
        parts
            .try_fold(settings, |table, part| table.get(part))
            .unwrap_or(&Value::Null)
    }
}

/// Renders a value as in `config.toml`.
#[must_use]
pub fn render_config_value(value: &Value) -> String {
    match value {
        // JSON's form of an array of strings is TOML too, but nobody writes it without spaces.
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// The settings of one table of `config.toml`.
#[derive(Clone, Copy, Debug)]
pub struct SettingTable {
    /// The table's name with a dot at the end, or empty for the settings outside of tables.
    pub prefix: &'static str,
    pub text: &'static str,
    pub keys: &'static [SettingKey],
}

/// Parses an environment variable.
pub(crate) fn parse_setting<T: SettingType>(kind: SettingKind, text: &str) -> Result<T, String> {
    // Through JSON, so that the words of an enum are only known to serde. Variables are rare, and
    // only those that are set get here.
    serde_json::from_value(kind.parse(text)?).map_err(|error| error.to_string())
}

/// Refuses a lower value: an agent that can set a variable must not loosen a rule.
pub(crate) fn refuse_looser<T: Ord>(current: &T, wanted: T) -> Result<T, String> {
    match wanted < *current {
        true => Err("the project is stricter; the environment cannot loosen it".to_owned()),
        false => Ok(wanted),
    }
}

/// Refuses a higher limit, for the same reason as [`refuse_looser`].
pub(crate) fn refuse_higher<T: Ord>(current: &T, wanted: T) -> Result<T, String> {
    match wanted > *current {
        true => Err("the environment can only lower the project's limit".to_owned()),
        false => Ok(wanted),
    }
}

/// Removes the slash at the end of a directory's name: paths are appended with one.
#[expect(clippy::unnecessary_wraps, reason = "a rule may refuse")]
pub(crate) fn strip_trailing_slash(_: &str, wanted: String) -> Result<String, String> {
    Ok(wanted.trim_end_matches('/').to_owned())
}

/// Converts a default list.
pub(crate) fn list_of(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Declares a table of settings. Each field has its description as a doc comment, type, default,
/// and optionally a description of the allowed values, a range, environment variables, and a rule
/// that a variable's value has to pass. `fields` are those that are not settings themselves.
macro_rules! setting_table {
    (
        $(#[doc = $about:literal])+
        pub struct $table:ident in $path:tt {
            $(
                $(#[doc = $text:literal])+
                $field:ident: $type:ty = $default:expr
                    $(, allowed $allowed:literal)?
                    $(, range $range:expr)?
                    $(, env [$($variable:literal),+])?
                    $(, rule $rule:path)?;
            )*
        }
        $(fields { $($(#[$meta:meta])* $other:ident: $other_type:ty,)+ })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $table {
            $($(#[doc = $text])+ pub $field: $type,)*
            $($($(#[$meta])* pub $other: $other_type,)+)?
        }

        impl Default for $table {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($($other: Default::default(),)+)?
                }
            }
        }

        impl $table {
            /// Documentation and setters of the settings in this table.
            pub(crate) const TABLE: $crate::settings::SettingTable = $crate::settings::SettingTable {
                prefix: setting_table!(@name $path),
                text: concat!($($about),+).trim_ascii_start(),
                keys: &[$($crate::settings::SettingKey {
                    name: setting_table!(@name $path $field),
                    // A doc comment's lines start with a space each, which joins them.
                    text: concat!($($text),+).trim_ascii_start(),
                    kind: setting_table!(@kind $type $(, $range)?),
                    environment: &[$($($variable),+)?],
                    allowed_text: concat!($($allowed)?),
                    set: |settings, text| {
                        let place = &mut setting_table!(@place settings $path).$field;
                        let kind = setting_table!(@kind $type $(, $range)?);
                        let wanted: $type =
                            $crate::settings::declaration::parse_setting(kind, text)?;
                        $(let wanted = $rule(place, wanted)?;)?
                        *place = wanted;
                        Ok(())
                    },
                }),*],
            };
        }
    };
    // The path is passed on as one token tree, because it cannot be repeated for each field.
    (@name [$($path:ident).*] $($field:ident)?) => {
        concat!($(stringify!($path), ".",)* $(stringify!($field))?)
    };
    (@place $settings:ident [$($path:ident).*]) => { $settings$(.$path)* };
    (@kind $type:ty $(, $range:expr)?) => {
        <$type as $crate::settings::declaration::SettingType>::KIND$(.within($range))?
    };
}
pub(crate) use setting_table;

/// Declares an enum of a setting: each variant with its word in `config.toml`. A variant without a
/// word cannot be chosen in the file.
macro_rules! setting_enum {
    (
        $(#[$about:meta])+
        pub enum $name:ident {
            $($(#[$meta:meta])* $variant:ident $(= $word:literal)?,)+
        }
    ) => {
        $(#[$about])+
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$meta])* $(#[serde(rename = $word)])? $variant,)+
        }

        impl $crate::settings::declaration::SettingType for $name {
            const KIND: $crate::settings::SettingKind =
                $crate::settings::SettingKind::OneOf(&[$($($word,)?)+]);
        }
    };
}
pub(crate) use setting_enum;
