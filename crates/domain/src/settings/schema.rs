//! JSON Schema of `config.toml`, for completion and checks in editors (taplo, Even Better TOML).

use serde_json::{Value, json};

use super::{SETTING_TABLES, SettingKey, SettingKind, Settings};

/// Name of the schema beside `config.toml`.
pub const SCHEMA_FILE: &str = "config.schema.json";

/// Returns the JSON Schema of `config.toml`.
#[must_use]
pub fn config_schema() -> Value {
    let defaults = Settings::default_values();
    let mut root = json!({
        // Draft 7 is the newest one that the editors' TOML extensions support.
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Throughline: .throughline/config.toml",
        "type": "object",
        "additionalProperties": false,
    });
    for table in SETTING_TABLES {
        let mut place = &mut root;
        for part in table.prefix.split_terminator('.') {
            // Parents are declared before their sub-tables, so only the last one is new here.
            place = &mut place["properties"][part];
        }
        place["type"] = "object".into();
        place["additionalProperties"] = false.into();
        place["description"] = table.text.into();
        for key in table.keys {
            let name = key.name.strip_prefix(table.prefix).unwrap_or(key.name);
            place["properties"][name] = property_schema(key, key.value_in(&defaults));
        }
    }
    root
}

fn property_schema(key: &SettingKey, default: &Value) -> Value {
    let mut schema = match key.kind {
        SettingKind::Boolean => json!({ "type": "boolean" }),
        SettingKind::Integer { min, max } if max < u64::from(u32::MAX) => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        SettingKind::Integer { min, .. } => json!({ "type": "integer", "minimum": min }),
        SettingKind::Text => json!({ "type": "string" }),
        SettingKind::TextList => json!({ "type": "array", "items": { "type": "string" } }),
        SettingKind::OneOf(words) => json!({ "enum": words }),
    };
    schema["description"] = format!("{}\n\nAllowed: {}.", key.text, key.allowed()).into();
    schema["default"] = default.clone();
    schema
}
