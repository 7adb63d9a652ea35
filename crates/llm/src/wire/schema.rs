//! Converts a JSON Schema to the subset a provider supports.
//!
//! Unsupported bounds move into the descriptions, where the model can read them. Validation here
//! always uses the full schema.

use serde_json::{Map, Value, json};

use crate::provider::SchemaFlavour;

/// Description of the forced tool, read by the model.
pub(crate) const TOOL_PURPOSE: &str =
    "Give the answer. Call this exactly once, with the whole answer.";

/// A schema in the provider's subset.
#[derive(Debug, PartialEq)]
pub(crate) struct ProviderSchema {
    pub(crate) schema: Value,
    /// Whether it satisfies the rules of OpenAI's strict mode.
    pub(crate) strict: bool,
}

pub(crate) fn convert_schema(schema: &Value, flavour: SchemaFlavour) -> ProviderSchema {
    match flavour {
        SchemaFlavour::Full => ProviderSchema {
            schema: schema.clone(),
            strict: is_strict(schema),
        },
        SchemaFlavour::OpenAiStrict => {
            let changed = map_subschemas(schema, &restrict_for_openai);
            // Free-form objects and conditions have no strict form; the original schema still helps
            // in non-strict mode.
            let strict = is_strict(&changed);
            ProviderSchema {
                schema: if strict { changed } else { schema.clone() },
                strict,
            }
        }
        SchemaFlavour::Anthropic => ProviderSchema {
            schema: map_subschemas(schema, &restrict_for_anthropic),
            strict: false,
        },
        SchemaFlavour::Gemini => {
            // Gemini supports no references, so definitions are inlined and then dropped.
            let mut whole = inline_local_references(schema, schema, 0);
            if let Some(fields) = whole.as_object_mut() {
                fields.retain(|key, _| {
                    !matches!(key.as_str(), "$defs" | "definitions" | "$schema" | "$id")
                });
            }
            ProviderSchema {
                schema: map_subschemas(&whole, &restrict_for_gemini),
                strict: false,
            }
        }
    }
}

type SchemaFields = Map<String, Value>;

/// Applies a change to every subschema, innermost first.
fn map_subschemas(schema: &Value, change: &dyn Fn(&mut SchemaFields)) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    let each = |value: &Value| map_subschemas(value, change);
    let mut fields: SchemaFields = fields
        .iter()
        .map(|(key, value)| {
            let value = match (key.as_str(), value) {
                // Names in here are not keywords: a property may be called `pattern` or `default`.
                ("properties" | "$defs" | "definitions", Value::Object(named)) => Value::Object(
                    named
                        .iter()
                        .map(|(name, schema)| (name.clone(), each(schema)))
                        .collect(),
                ),
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                    list.iter().map(each).collect()
                }
                ("items" | "additionalProperties", Value::Object(_)) => each(value),
                _ => value.clone(),
            };
            (key.clone(), value)
        })
        .collect();
    change(&mut fields);
    Value::Object(fields)
}

fn restrict_for_openai(fields: &mut SchemaFields) {
    one_of_as_any_of(fields);
    const_as_enum(fields);
    move_to_description(
        fields,
        &[
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "uniqueItems",
            "minProperties",
            "maxProperties",
        ],
    );
    drop_keywords(fields, &["default", "examples", "$schema", "$id", "title"]);
    // Read before the property list below replaces it.
    let required: Vec<String> = fields
        .get("required")
        .and_then(Value::as_array)
        .map(|names| {
            names
                .iter()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect()
        })
        .unwrap_or_default();
    let Some(Value::Object(properties)) = fields.get_mut("properties") else {
        return;
    };
    for (name, property) in properties.iter_mut() {
        if !required.contains(name) {
            make_property_nullable(property);
        }
    }
    let names: Vec<&String> = properties.keys().collect();
    let names = json!(names);
    fields.insert("required".to_owned(), names);
    // Strict mode requires closed objects; additional properties are not wanted anyway.
    if !fields
        .get("additionalProperties")
        .is_some_and(Value::is_object)
    {
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
}

fn restrict_for_anthropic(fields: &mut SchemaFields) {
    one_of_as_any_of(fields);
    move_to_description(
        fields,
        &[
            "minLength",
            "maxLength",
            "pattern",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "maxItems",
            "minProperties",
            "maxProperties",
            "uniqueItems",
        ],
    );
    if fields
        .get("minItems")
        .and_then(Value::as_u64)
        .is_some_and(|least| least > 1)
    {
        move_to_description(fields, &["minItems"]);
    }
    drop_keywords(fields, &["default", "examples", "$schema", "$id"]);
    // Only with properties: a free-form object would be closed to an empty one.
    if fields.contains_key("properties") {
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
}

fn restrict_for_gemini(fields: &mut SchemaFields) {
    one_of_as_any_of(fields);
    const_as_enum(fields);
    move_to_description(
        fields,
        &[
            "minLength",
            "maxLength",
            "pattern",
            "uniqueItems",
            "multipleOf",
            "exclusiveMinimum",
            "exclusiveMaximum",
        ],
    );
    drop_keywords(fields, &["default", "examples"]);
}

fn one_of_as_any_of(fields: &mut SchemaFields) {
    // `anyOf` accepts everything `oneOf` does; validation here still checks that exactly one
    // matches.
    if let Some(options) = fields.remove("oneOf") {
        fields.entry("anyOf").or_insert(options);
    }
}

fn const_as_enum(fields: &mut SchemaFields) {
    if let Some(value) = fields.remove("const") {
        // The constant implied its type; an enum has to state it.
        if !fields.contains_key("type") && value.is_string() {
            fields.insert("type".to_owned(), json!("string"));
        }
        fields.insert("enum".to_owned(), json!([value]));
    }
}

fn drop_keywords(fields: &mut SchemaFields, keywords: &[&str]) {
    fields.retain(|key, _| !keywords.contains(&key.as_str()));
}

/// Moves keywords into the description, in words.
fn move_to_description(fields: &mut SchemaFields, keywords: &[&str]) {
    let words: Vec<String> = keywords
        .iter()
        .filter_map(|keyword| fields.remove(*keyword).map(|limit| (keyword, limit)))
        .filter_map(|(keyword, limit)| {
            let limit = limit
                .as_str()
                .map_or_else(|| limit.to_string(), str::to_owned);
            Some(match *keyword {
                "minLength" => format!("at least {limit} characters"),
                "maxLength" => format!("at most {limit} characters"),
                "minItems" => format!("at least {limit} items"),
                "maxItems" => format!("at most {limit} items"),
                "minimum" => format!("at least {limit}"),
                "maximum" => format!("at most {limit}"),
                "exclusiveMinimum" => format!("more than {limit}"),
                "exclusiveMaximum" => format!("less than {limit}"),
                "multipleOf" => format!("a multiple of {limit}"),
                "pattern" => format!("matching {limit}"),
                "format" => format!("as {limit}"),
                "uniqueItems" => "no item twice".to_owned(),
                _ => return None,
            })
        })
        .collect();
    if words.is_empty() {
        return;
    }
    let words = words.join(", ");
    let description = match fields.get("description").and_then(Value::as_str) {
        Some(description) => format!("{description} ({words})"),
        None => words,
    };
    fields.insert("description".to_owned(), json!(description));
}

/// Makes a property nullable: strict mode's form of an optional property.
fn make_property_nullable(property: &mut Value) {
    let Some(fields) = property.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(options)) = fields.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        // An enum lists all values, so null has to be among them as well.
        options.push(Value::Null);
    }
    match fields.get_mut("type") {
        Some(Value::String(single)) if single != "null" => {
            let both = json!([single, "null"]);
            fields.insert("type".to_owned(), both);
        }
        Some(Value::Array(several)) if !several.contains(&json!("null")) => {
            several.push(json!("null"))
        }
        Some(_) => {}
        None => match fields.get_mut("anyOf") {
            Some(Value::Array(options)) => options.push(json!({"type": "null"})),
            _ => *property = json!({"anyOf": [property.take(), {"type": "null"}]}),
        },
    }
}

/// Whether a schema satisfies strict mode: all objects closed with all properties required, and no
/// combined or conditional schemas.
fn is_strict(schema: &Value) -> bool {
    fn strict(schema: &Value) -> bool {
        let Value::Object(fields) = schema else {
            return false;
        };
        if [
            "allOf",
            "not",
            "if",
            "oneOf",
            "patternProperties",
            "minLength",
            "maxLength",
        ]
        .iter()
        .any(|keyword| fields.contains_key(*keyword))
        {
            return false;
        }
        let is_object = match fields.get("type") {
            Some(Value::String(single)) => single == "object",
            Some(Value::Array(several)) => several.contains(&json!("object")),
            _ => fields.contains_key("properties"),
        };
        if is_object {
            let Some(properties) = fields.get("properties").and_then(Value::as_object) else {
                return false;
            };
            let required = fields
                .get("required")
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            if fields.get("additionalProperties") != Some(&json!(false))
                || required != properties.len()
            {
                return false;
            }
        }
        let named = ["properties", "$defs", "definitions"]
            .iter()
            .filter_map(|key| fields.get(*key)?.as_object());
        let listed = ["anyOf", "prefixItems"]
            .iter()
            .filter_map(|key| fields.get(*key)?.as_array());
        named
            .flat_map(Map::values)
            .chain(listed.flatten())
            .chain(fields.get("items"))
            .all(strict)
    }
    schema.get("type").and_then(Value::as_str) == Some("object") && strict(schema)
}

/// Inlines local references. A recursive schema keeps its innermost reference.
fn inline_local_references(schema: &Value, root: &Value, depth: usize) -> Value {
    const DEEPEST: usize = 16;
    match schema {
        Value::Object(fields) => {
            let target = fields
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|reference| reference.strip_prefix('#'))
                .and_then(|pointer| root.pointer(pointer));
            match target {
                // The depth is limited, because a recursive schema would be inlined forever.
                Some(target) if depth < DEEPEST => inline_local_references(target, root, depth + 1),
                _ => Value::Object(
                    fields
                        .iter()
                        .map(|(key, value)| {
                            (key.clone(), inline_local_references(value, root, depth))
                        })
                        .collect(),
                ),
            }
        }
        Value::Array(items) => items
            .iter()
            .map(|item| inline_local_references(item, root, depth))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["why"],
            "properties": {
                "why": {"type": "string", "maxLength": 80, "description": "A reason"},
                "mood": {"enum": ["calm", "grim"]},
                "step": {"oneOf": [{"$ref": "#/$defs/search"}]},
                "items": {"type": "array", "maxItems": 4, "items": {"type": "integer", "minimum": 1}}
            },
            "$defs": {"search": {
                "type": "object", "required": ["tool"], "properties": {"tool": {"const": "memory.search"}}
            }}
        })
    }

    #[test]
    fn all_of_it_where_all_of_it_is_taken() {
        assert_eq!(
            convert_schema(&schema(), SchemaFlavour::Full),
            ProviderSchema {
                schema: schema(),
                strict: false
            }
        );
    }

    #[test]
    fn strict_for_openai() {
        let ProviderSchema { schema, strict } =
            convert_schema(&schema(), SchemaFlavour::OpenAiStrict);
        assert!(strict, "{schema:#}");
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["items", "mood", "step", "why"],
                "properties": {
                    "why": {"type": "string", "description": "A reason (at most 80 characters)"},
                    "mood": {"anyOf": [{"enum": ["calm", "grim", null]}, {"type": "null"}]},
                    "step": {"anyOf": [{"$ref": "#/$defs/search"}, {"type": "null"}]},
                    "items": {"type": ["array", "null"], "maxItems": 4, "items": {"type": "integer", "minimum": 1}}
                },
                "$defs": {"search": {
                    "type": "object", "additionalProperties": false, "required": ["tool"],
                    "properties": {"tool": {"type": "string", "enum": ["memory.search"]}}
                }}
            })
        );
    }

    #[test]
    fn what_has_no_strict_form_is_sent_loosely() {
        let free = json!({"type": "object", "required": ["args"], "properties": {"args": {"type": "object"}}});
        assert_eq!(
            convert_schema(&free, SchemaFlavour::OpenAiStrict),
            ProviderSchema {
                schema: free.clone(),
                strict: false
            }
        );
        // Closed, it would only allow the empty object.
        let sent = convert_schema(&free, SchemaFlavour::Anthropic).schema;
        assert_eq!(
            sent.pointer("/properties/args"),
            Some(&json!({"type": "object"}))
        );
    }

    #[test]
    fn without_bounds_for_anthropic() {
        let sent = convert_schema(&schema(), SchemaFlavour::Anthropic).schema;
        assert_eq!(
            sent.pointer("/properties/items"),
            Some(&json!({
                "type": "array", "description": "at most 4 items",
                "items": {"type": "integer", "description": "at least 1"}
            }))
        );
        assert_eq!(sent.get("additionalProperties"), Some(&json!(false)));
        assert_eq!(
            sent.pointer("/$defs/search/additionalProperties"),
            Some(&json!(false))
        );
        assert_eq!(sent.get("required"), Some(&json!(["why"])));
    }

    #[test]
    fn without_references_for_gemini() {
        let sent = convert_schema(&schema(), SchemaFlavour::Gemini).schema;
        assert_eq!(sent.get("$defs"), None);
        assert_eq!(
            sent.pointer("/properties/step/anyOf/0/properties/tool/enum"),
            Some(&json!(["memory.search"]))
        );
        assert_eq!(sent.pointer("/properties/items/maxItems"), Some(&json!(4)));
        let recursive = json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}});
        convert_schema(&recursive, SchemaFlavour::Gemini);
    }

    #[test]
    fn a_property_may_be_named_like_a_keyword() {
        let tricky = json!({"type": "object", "required": ["pattern", "default"], "properties": {
            "pattern": {"type": "string"}, "default": {"type": "string"}
        }});
        for flavour in [
            SchemaFlavour::OpenAiStrict,
            SchemaFlavour::Anthropic,
            SchemaFlavour::Gemini,
        ] {
            let sent = convert_schema(&tricky, flavour).schema;
            assert_eq!(
                sent.get("properties"),
                tricky.get("properties"),
                "{flavour:?}"
            );
        }
    }
}
