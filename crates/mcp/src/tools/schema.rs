//! Published JSON schemas of tools, derived from their argument and outcome types.
//!
//! `schemars` describes a type exactly: references, unions, nullable members, number formats. Clients
//! differ in what of this they support, and every byte of the list is context of a model, so it is
//! reduced here to flat objects without references, unions and nulls.
//!
//! An outcome is published with the members of its outermost object and their types, without
//! descriptions: a model reads the result itself, and complete schemas of all nested views would
//! be several times as large as the rest of the list.

use std::collections::BTreeMap;

use domain::plan_document::MILESTONES_PROFILE;
use domain::profile::{Level, Profile};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::SeedArguments;

/// `enum` of an argument that names a level; replaced by the levels of the project's plans.
pub(super) const LEVELS: &str = "levels";
/// `enum` of an argument that names a work phase; replaced by the phases of the project's profiles.
pub(super) const PHASES: &str = "phases";
/// Part of a description that is replaced by the path of a plan as the project has them.
const EXAMPLE: &str = ": {example}";

/// Returns the schema of a tool's arguments.
pub(super) fn derive_input<T: JsonSchema>(profiles: &[Profile]) -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    reduce_input(
        &settings.into_generator().into_root_schema_for::<T>().into(),
        profiles,
    )
}

/// Returns the schema of a tool's structured result.
pub(super) fn derive_output<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    reduce_output(&settings.into_generator().into_root_schema_for::<T>().into())
}

// Not generic, so that it is compiled once and not for each of the argument types.
fn reduce_input(root: &Value, profiles: &[Profile]) -> Value {
    let mut schema = reduce_members(root, &root["$defs"], profiles);
    // Makes a model's typo an error instead of an ignored argument.
    schema.insert("additionalProperties".to_owned(), json!(false));
    Value::Object(schema)
}

fn has_object_variants(schema: &Map<String, Value>) -> bool {
    let variants = schema.get("oneOf").and_then(Value::as_array);
    variants.is_some_and(|variants| variants.iter().all(|one| one.get("properties").is_some()))
}

/// Returns an object schema with the members of all variants of a type.
fn reduce_members(root: &Value, definitions: &Value, profiles: &[Profile]) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required: Option<Vec<&str>> = None;
    let variants = object_variants(root, definitions);
    for variant in &variants {
        for (name, property) in members(variant) {
            let property = reduce_argument(property, definitions, profiles);
            match properties.get_mut(name) {
                Some(known) => merge_argument(known, property),
                None => {
                    properties.insert(name.clone(), property);
                }
            }
        }
        // What only some actions need is optional; parsing names what is missing for the given one.
        let own = required_names(variant);
        required = Some(match required {
            None => own,
            Some(known) => known
                .into_iter()
                .filter(|name| own.contains(name))
                .collect(),
        });
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if let Some(required) = required.filter(|required| !required.is_empty()) {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn reduce_output(root: &Value) -> Value {
    let definitions = &root["$defs"];
    // `None` for a member that cannot be published: null, or of another type, in some variant.
    let mut properties: BTreeMap<String, Option<Value>> = BTreeMap::new();
    for variant in object_variants(root, definitions) {
        let required = required_names(&variant);
        for (name, property) in members(&variant) {
            let resolved = resolve(property, definitions);
            // A nullable member that is not required is left out of the result when it is null.
            let may_be_null = resolved.nullable && required.contains(&name.as_str());
            let published = match name.as_str() {
                // Rendered as calls of tools.
                "next_steps" => Some(json!({ "type": "array", "items": { "type": "object" } })),
                "next_step" => Some(json!({ "type": "object" })),
                _ => result_type(&resolved.schema, definitions).filter(|_| !may_be_null),
            };
            properties
                .entry(name.clone())
                .and_modify(|known| {
                    if *known != published {
                        *known = None;
                    }
                })
                .or_insert(published);
        }
    }
    let properties: Map<String, Value> = properties
        .into_iter()
        .filter_map(|(name, published)| Some((name, published?)))
        .collect();
    json!({ "type": "object", "properties": properties })
}

/// Returns the variants of an enumeration of objects; an object is its only variant.
fn object_variants(root: &Value, definitions: &Value) -> Vec<Map<String, Value>> {
    let variants = root.get("oneOf").or_else(|| root.get("anyOf"));
    match variants.and_then(Value::as_array) {
        Some(variants) => variants
            .iter()
            .map(|variant| resolve(variant, definitions).schema)
            .collect(),
        None => vec![root.as_object().cloned().unwrap_or_default()],
    }
}

fn members(object: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    object
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn required_names(object: &Map<String, Value>) -> Vec<&str> {
    let names = object.get("required").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// A schema without references, and whether it also accepts null.
struct Resolved {
    schema: Map<String, Value>,
    nullable: bool,
}

fn resolve(schema: &Value, definitions: &Value) -> Resolved {
    // `true` stands for any value; it has no members.
    let mut own = schema.as_object().cloned().unwrap_or_default();
    let mut nullable = false;
    if let Some(Value::String(reference)) = own.remove("$ref") {
        let name = reference.trim_start_matches("#/$defs/");
        let mut inner = resolve(&definitions[name], definitions).schema;
        // The comment on a type is for readers of the code; only fields describe arguments.
        inner.remove("description");
        for (key, value) in own {
            match (inner.get_mut(&key), value) {
                // The tag of an internally tagged variant beside the members of its content.
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
                (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                (_, value) => {
                    inner.insert(key, value);
                }
            }
        }
        own = inner;
    }
    let is_null = |schema: &Value| schema["type"] == "null";
    if let Some(Value::Array(choices)) = own.get("anyOf").cloned()
        && choices.iter().any(is_null)
    {
        own.remove("anyOf");
        nullable = true;
        for choice in choices.iter().filter(|choice| !is_null(choice)) {
            let mut inner = resolve(choice, definitions).schema;
            // What stands beside the choice wins: a field's description, over that of its type.
            inner.extend(std::mem::take(&mut own));
            own = inner;
        }
    }
    if let Some(Value::Array(types)) = own.get_mut("type") {
        nullable |= types.iter().any(|word| word == "null");
        types.retain(|word| word != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            own.insert("type".to_owned(), only);
        }
    }
    Resolved {
        schema: own,
        nullable,
    }
}

/// Keywords of arguments that are published as they are.
const KEPT_KEYWORDS: [&str; 5] = ["type", "description", "maximum", "minLength", "maxLength"];

fn reduce_argument(schema: &Value, definitions: &Value, profiles: &[Profile]) -> Value {
    let Resolved { schema, .. } = resolve(schema, definitions);
    let mut reduced: Map<String, Value> = schema
        .iter()
        .filter(|(keyword, _)| KEPT_KEYWORDS.contains(&keyword.as_str()))
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect();
    // Unsigned types have `minimum: 0`, which no model has to be told.
    if let Some(minimum) = schema
        .get("minimum")
        .filter(|minimum| **minimum != json!(0))
    {
        reduced.insert("minimum".to_owned(), minimum.clone());
    }
    if let Some(items) = schema.get("items") {
        let items = reduce_argument(items, definitions, profiles);
        reduced.insert("items".to_owned(), items);
    }
    // An object with known members is published whole: they are learned one error at a time
    // otherwise.
    if schema.contains_key("properties") || has_object_variants(&schema) {
        let whole = Value::Object(schema.clone());
        reduced.extend(reduce_members(&whole, definitions, profiles));
        describe_variants(&mut reduced, &object_variants(&whole, definitions));
    }
    if let Some(Value::String(text)) = reduced.get_mut("description")
        && text.contains(EXAMPLE)
    {
        let example = example_path(profiles).map(|path| format!(": {path}"));
        *text = text.replace(EXAMPLE, &example.unwrap_or_default());
    }
    let words = match schema.get("enum") {
        Some(Value::String(placeholder)) => project_words(placeholder, profiles),
        Some(Value::Array(words)) => words
            .iter()
            .filter(|word| !word.is_null())
            .cloned()
            .collect(),
        _ => match schema.get("const") {
            Some(word) => vec![word.clone()],
            None => described_words(&schema),
        },
    };
    if !words.is_empty() && !reduced.contains_key("type") {
        reduced.insert("type".to_owned(), json!("string"));
    }
    // An empty list is published as well: without phases in the profiles no word is allowed.
    if !words.is_empty() || schema.get("enum").is_some() {
        reduced.insert("enum".to_owned(), Value::Array(words));
    }
    Value::Object(reduced)
}

/// Returns the words of an enumeration of which some have a description; none for anything else.
fn described_words(schema: &Map<String, Value>) -> Vec<Value> {
    let choices = schema.get("oneOf").and_then(Value::as_array);
    let words = choices.into_iter().flatten().flat_map(|choice| {
        let listed = choice.get("enum").and_then(Value::as_array);
        let one = choice.get("const");
        listed.into_iter().flatten().chain(one).cloned()
    });
    words.filter(Value::is_string).collect()
}

/// Returns the path of a plan as this project names them; `None` if none is written as a text.
fn example_path(profiles: &[Profile]) -> Option<String> {
    let is_written = |level: &&Level| level.file.is_some() || level.items.is_some();
    let alias = |level: &Level, number: u32| {
        let numbered = level.alias.format_alias(number, Some(1));
        numbered.unwrap_or_else(|| match level.items {
            Some(_) => "an-unknown-code".to_owned(),
            None => "001".to_owned(),
        })
    };
    // A plan document is changed by tools of its own.
    let mut profiles = profiles
        .iter()
        .filter(|profile| profile.name != MILESTONES_PROFILE);
    profiles.find_map(|profile| {
        let mut tops = profile.levels.iter().filter(is_written);
        let top = tops.find(|level| level.root && !level.optional)?;
        let below = profile
            .levels_under(&top.name)
            .filter(is_written)
            .find(|level| level.name != top.name);
        let path = below.map(|below| format!("{}/{}", alias(top, 1), alias(below, 2)));
        Some(path.unwrap_or_else(|| alias(top, 1)))
    })
}

/// Returns the words of the project for a placeholder: models guess names of levels and phases
/// otherwise.
fn project_words(placeholder: &str, profiles: &[Profile]) -> Vec<Value> {
    match placeholder {
        LEVELS => level_names(profiles),
        // Custom profiles name their own phases.
        PHASES => profiles
            .iter()
            .flat_map(|profile| &profile.work_phases)
            .map(|phase| json!(phase.name))
            .collect(),
        _ => Vec::new(),
    }
}

/// Says which members each variant of an object requires, at the member that tells them apart.
fn describe_variants(reduced: &mut Map<String, Value>, variants: &[Map<String, Value>]) {
    let is_tag = |member: &(&String, &Value)| member.1.get("const").is_some();
    let mut lines = Vec::new();
    let mut tag = None;
    for variant in variants {
        let Some((name, member)) = members(variant).find(is_tag) else {
            return;
        };
        let required = required_names(variant).into_iter();
        let required: Vec<&str> = required.filter(|required| required != name).collect();
        let word = member["const"].as_str().unwrap_or_default();
        lines.push(format!("{word}: {}", required.join(", ")));
        tag = Some(name.clone());
    }
    if let Some(tag) = tag.filter(|_| lines.len() > 1)
        && let Some(properties) = reduced.get_mut("properties")
    {
        properties[tag]["description"] = json!(lines.join("; "));
    }
}

/// Returns the names of all levels, each once: a project may have several kinds of trees.
fn level_names(profiles: &[Profile]) -> Vec<Value> {
    let mut names: Vec<Value> = Vec::new();
    for level in profiles.iter().flat_map(|profile| &profile.levels) {
        let name = json!(level.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Replaces the argument that names a node by those of the earlier interface.
pub(super) fn rename_node(schema: &mut Value, shape: SeedArguments, profiles: &[Profile]) {
    let (own, seed): (&str, &[&str]) = match shape {
        SeedArguments::Same | SeedArguments::Only => return,
        SeedArguments::Entity => ("node", &["entity_type", "entity_id"]),
        SeedArguments::Act => ("node", &["act_id"]),
        SeedArguments::Scene => ("scene", &["scene_id"]),
    };
    let Some(properties) = schema["properties"].as_object_mut() else {
        return;
    };
    let described = properties.remove(own).unwrap_or_default();
    for name in seed {
        let argument = match *name {
            "entity_type" => json!({ "type": "string", "enum": level_names(profiles) }),
            _ => described.clone(),
        };
        properties.insert((*name).to_owned(), argument);
    }
    if let Some(required) = schema["required"].as_array_mut()
        && let Some(at) = required.iter().position(|name| name == own)
    {
        required.splice(at..=at, seed.iter().map(|name| json!(name)));
    }
}

/// Adds what another action says about an argument: more words, or a description.
fn merge_argument(known: &mut Value, more: Value) {
    let Value::Object(more) = more else { return };
    for (keyword, value) in more {
        match (known.get_mut(&keyword), value) {
            (Some(Value::Array(words)), Value::Array(others)) => words.extend(others),
            (Some(_), _) => {}
            (None, value) => known[keyword] = value,
        }
    }
}

/// Returns the type of a member of a result, and of its items; `None` if it can be any value.
fn result_type(schema: &Map<String, Value>, definitions: &Value) -> Option<Value> {
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        // An enumeration with described words.
        _ => {
            let choices = schema.get("oneOf").and_then(Value::as_array)?;
            let kinds = choices.iter().map(|choice| choice["type"].as_str());
            let first = kinds.clone().next()??;
            kinds
                .into_iter()
                .all(|kind| kind == Some(first))
                .then(|| first.to_owned())?
        }
    };
    let mut published = json!({ "type": kind });
    if let Some(items) = schema.get("items") {
        let items = result_type(&resolve(items, definitions).schema, definitions);
        if let Some(items) = items {
            published["items"] = items;
        }
    }
    Some(published)
}
