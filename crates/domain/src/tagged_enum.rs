//! Deserialisation of internally tagged enums without buffering, for input that has the tag first.
//!
//! Serde's own `#[serde(tag = …)]` copies every field into a buffer before it knows the variant,
//! which took most of the time of replaying a journal. Everything this program writes has the tag
//! first; other input is buffered as before.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, IntoDeserializer, MapAccess,
    VariantAccess, Visitor,
};
use serde_json::{Map, Value};

/// An enum that can be deserialised in serde's externally tagged form.
pub(crate) trait ExternallyTagged: Sized {
    /// The key of the tag in the internally tagged form.
    const TAG: &'static str;

    /// Deserialises a variant and its fields.
    fn deserialize_variant<'de, D: Deserializer<'de>>(variant: D) -> Result<Self, D::Error>;
}

/// Deserialises a map that has the tag of the variant among its entries.
pub(crate) fn deserialize_tagged<'de, T: ExternallyTagged, D: Deserializer<'de>>(
    map: D,
) -> Result<T, D::Error> {
    map.deserialize_map(TaggedVisitor(PhantomData))
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: ExternallyTagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the key `{}`", T::TAG)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let Some(first) = map.next_key::<String>()? else {
            return Err(Error::missing_field(T::TAG));
        };
        if first == T::TAG {
            let variant: String = map.next_value()?;
            return T::deserialize_variant(TaggedFields { variant, map });
        }
        let mut fields = Map::new();
        fields.insert(first, map.next_value()?);
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            fields.insert(key, value);
        }
        let variant = match fields.remove(T::TAG) {
            Some(Value::String(variant)) => variant,
            Some(_) => return Err(Error::custom(format!("`{}` is not a string", T::TAG))),
            None => return Err(Error::missing_field(T::TAG)),
        };
        let map = MapDeserializer::<_, serde_json::Error>::new(fields.into_iter());
        T::deserialize_variant(TaggedFields { variant, map }).map_err(Error::custom)
    }
}

/// A variant whose name is known, and the map with its fields.
struct TaggedFields<A> {
    variant: String,
    map: A,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for TaggedFields<A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for TaggedFields<A> {
    type Error = A::Error;
    type Variant = Fields<A>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Fields<A>), A::Error> {
        let name: StrDeserializer<'_, A::Error> = self.variant.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, Fields(self.map)))
    }
}

/// The entries of the map that are left.
struct Fields<A>(A);

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn unit_variant(mut self) -> Result<(), A::Error> {
        // The map has to be read to its end, or the parser stops in the middle of the object.
        while self.0.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        seed.deserialize(MapAccessDeserializer::new(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, A::Error> {
        Err(Error::custom("a tuple has no tag"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::fact::Fact;
    use crate::ids::{NodeId, OperationId};
    use crate::node::Content;

    #[test]
    fn the_tag_may_come_first_or_later() {
        let expected = Fact::UndoneChanged {
            operation: OperationId(3),
            before: None,
            after: Some(OperationId(4)),
        };
        for text in [
            r#"{"fact":"undone-changed","operation":3,"before":null,"after":4}"#,
            r#"{"operation":3,"before":null,"fact":"undone-changed","after":4}"#,
        ] {
            assert_eq!(serde_json::from_str::<Fact>(text).unwrap(), expected);
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::from_value::<Fact>(value).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for after in [
            Content::Missing,
            Content::Unreadable {
                why: "binary".to_owned(),
            },
        ] {
            let fact = Fact::ContentChanged {
                node: NodeId(1),
                before: Content::Missing,
                after,
            };
            let text = serde_json::to_string(&fact).unwrap();
            assert!(text.starts_with(r#"{"fact":"content-changed","#), "{text}");
            assert_eq!(serde_json::from_str::<Fact>(&text).unwrap(), fact);
        }
    }

    #[test]
    fn unknown_variants_and_missing_tags_are_errors() {
        for (text, why) in [
            (r#"{"fact":"burnt"}"#, "unknown variant `burnt`"),
            (r#"{"node":1}"#, "missing field `fact`"),
            (r#"{}"#, "missing field `fact`"),
            (r#"{"node":1,"fact":7}"#, "`fact` is not a string"),
            (r#"{"fact":"node-added"}"#, "missing field `node`"),
            (r#"[1]"#, "an object with the key `fact`"),
        ] {
            let error = serde_json::from_str::<Fact>(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
