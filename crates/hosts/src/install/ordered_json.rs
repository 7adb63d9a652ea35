//! Order-preserving JSON values, to compare and write entries of settings files.
//!
//! `serde_json` without its `preserve_order` feature sorts members, and an entry should keep the
//! order people know from the host's documentation.

use jsonc_parser::cst::{CstInputValue, CstNode};

/// A JSON value; the order of an object's members is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrderedJson {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl OrderedJson {
    /// Converts a syntax node; anything that is not a value becomes `Null`.
    pub(crate) fn from_node(node: &CstNode) -> Self {
        if let Some(object) = node.as_object() {
            let member = |property: jsonc_parser::cst::CstObjectProp| {
                let value = property
                    .value()
                    .map_or(Self::Null, |value| Self::from_node(&value));
                (property.decoded_name().unwrap_or_default(), value)
            };
            return Self::Object(object.properties().into_iter().map(member).collect());
        }
        if let Some(array) = node.as_array() {
            return Self::List(array.elements().iter().map(Self::from_node).collect());
        }
        if let Some(text) = node.as_string_lit() {
            return Self::Text(text.decoded_value().unwrap_or_default());
        }
        if let Some(number) = node.as_number_lit() {
            return Self::Number(number.to_string());
        }
        node.as_boolean_lit()
            .map_or(Self::Null, |bool| Self::Bool(bool.value()))
    }

    /// Returns a member of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the string, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements, if it is a list.
    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }
}

/// Builds an object from its members.
pub(crate) fn json_object<const N: usize>(members: [(&str, OrderedJson); N]) -> OrderedJson {
    OrderedJson::Object(
        members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

impl From<&str> for OrderedJson {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for OrderedJson {
    fn from(number: u32) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<OrderedJson> for CstInputValue {
    fn from(json: OrderedJson) -> Self {
        match json {
            OrderedJson::Null => Self::Null,
            OrderedJson::Bool(bool) => Self::Bool(bool),
            OrderedJson::Number(number) => Self::Number(number),
            OrderedJson::Text(text) => Self::String(text),
            OrderedJson::List(list) => Self::Array(list.into_iter().map(Into::into).collect()),
            OrderedJson::Object(members) => Self::Object(
                members
                    .into_iter()
                    .map(|(name, value)| (name, value.into()))
                    .collect(),
            ),
        }
    }
}
