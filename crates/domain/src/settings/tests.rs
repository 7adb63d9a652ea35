//! Laws of the setting tables: each key round-trips, and the tables cover every field.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

/// Collects the dotted names of all values in a JSON object.
fn collect_names(prefix: &str, value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_names(&format!("{prefix}.{name}"), value, names);
            }
        }
        _ => {
            names.insert(prefix.trim_start_matches('.').to_owned());
        }
    }
}

#[test]
fn every_field_has_exactly_one_key() {
    let mut fields = BTreeSet::new();
    collect_names("", &Settings::default_values(), &mut fields);
    let keys: BTreeSet<String> = setting_keys().map(|key| key.name.to_owned()).collect();
    assert_eq!(keys, fields);
    assert_eq!(keys.len(), setting_keys().count());
    for key in setting_keys() {
        assert!(
            key.text.ends_with('.') && !key.text.contains("  "),
            "{}: {:?}",
            key.name,
            key.text
        );
    }
}

#[test]
fn every_default_round_trips_through_the_file_and_the_command_line() {
    let defaults = Settings::default_values();
    for key in setting_keys() {
        let value = key.value_in(&defaults);
        let text = render_config_value(value);
        let line = format!("{} = {text}\n", key.name);
        assert_eq!(
            parse_config("config.toml", &line),
            Ok(Settings::default()),
            "{line}"
        );
        assert_eq!(
            key.parse_value(text.trim_matches('"')).as_ref(),
            Ok(value),
            "{line}"
        );
        assert_eq!(key.check_value(value), Ok(()), "{line}");
    }
}

#[test]
fn every_word_of_a_choice_is_accepted_by_the_file() {
    for key in setting_keys() {
        let SettingKind::OneOf(words) = key.kind else {
            continue;
        };
        for word in words {
            let line = format!("{} = \"{word}\"\n", key.name);
            let read = parse_config("config.toml", &line).expect(&line);
            assert_eq!(key.value_in(&read.values()), &json!(word), "{line}");
        }
    }
}

#[test]
fn every_variable_sets_its_own_key_only() {
    let defaults = Settings::default_values();
    let mut seen = BTreeSet::new();
    for key in setting_keys() {
        // A value that no rule refuses: unrestricted ones other than the default, else the default.
        let text = match key.kind {
            SettingKind::Boolean => "false".to_owned(),
            SettingKind::Text | SettingKind::TextList => "проверка".to_owned(),
            SettingKind::OneOf(words) => words[words.len() - 1].to_owned(),
            SettingKind::Integer { .. } => render_config_value(key.value_in(&defaults)),
        };
        for name in key.environment {
            assert!(seen.insert(*name), "{name} is used twice");
            let read = Settings::default()
                .with_environment(&|asked| (asked == *name).then(|| text.clone()))
                .expect(name);
            let values = read.values();
            for other in setting_keys().filter(|other| other.name != key.name) {
                assert_eq!(other.value_in(&values), other.value_in(&defaults), "{name}");
            }
            if matches!(key.kind, SettingKind::Boolean | SettingKind::TextList) {
                assert_ne!(key.value_in(&values), key.value_in(&defaults), "{name}");
            }
        }
    }
}

#[test]
fn the_environment_cannot_loosen_a_gate_or_leave_a_range() {
    let refused = |name: &str, text: &str| {
        Settings::default()
            .with_environment(&|asked| (asked == name).then(|| text.to_owned()))
            .expect_err(name)
            .to_string()
    };
    for (name, text, expected) in [
        (
            "THROUGHLINE_GATE_LOC",
            "off",
            "the project is stricter; the environment cannot loosen it",
        ),
        (
            "THROUGHLINE_GATE_LOC_LIMIT",
            "401",
            "the environment can only lower the project's limit",
        ),
        (
            "THROUGHLINE_GATE_SHRINK_BELOW_PERCENT",
            "39",
            "the project is stricter; the environment cannot loosen it",
        ),
        (
            "THROUGHLINE_GATE_SHRINK_BELOW_PERCENT",
            "101",
            "`101` is not allowed: expected a number from 0 to 100",
        ),
        (
            "THROUGHLINE_CASCADE_MAX_DEPTH",
            "0",
            "`0` is not allowed: expected a number from 1",
        ),
        (
            "THROUGHLINE_CASCADE",
            "depp",
            "`depp` is not allowed: expected one of `precise`, `deep`; did you mean `deep`?",
        ),
        (
            "THROUGHLINE_MAX_PLAN_BYTES",
            "много",
            "`много` is not a number",
        ),
    ] {
        assert_eq!(refused(name, text), format!("{name}: {expected}"));
    }
}

#[test]
fn the_schema_accepts_the_defaults_and_refuses_what_the_parser_refuses() {
    let schema = config_schema();
    let validator = jsonschema::draft7::new(&schema).expect("a valid schema");
    assert!(validator.is_valid(&Settings::default_values()));
    for wrong in [
        json!({ "storrage": "json" }),
        json!({ "policy": { "aproval": "human" } }),
        json!({ "policy": { "approval": "люди" } }),
        json!({ "policy": { "gates": { "loc": true } } }),
        json!({ "policy": { "gates": { "shrink_below_percent": 101 } } }),
        json!({ "profiles": "story" }),
        json!({ "mirror": { "enabled": "yes" } }),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
        let text = toml::to_string(&wrong).expect("TOML");
        assert!(parse_config("config.toml", &text).is_err(), "{text}");
    }
}

#[test]
fn a_duplicate_section_is_refused_with_its_line_and_the_command_that_avoids_it() {
    for (text, line) in [
        (
            "[policy]\nconsistency = \"off\"\n\n[policy]\napproval = \"human\"\n",
            4,
        ),
        (
            "policy.consistency = \"off\"\n[policy]\napproval = \"human\"\n",
            2,
        ),
    ] {
        let problem = parse_config("config.toml", text)
            .expect_err(text)
            .to_string();
        assert!(
            problem.starts_with(&format!("config.toml:{line}: ")),
            "{problem}"
        );
        assert!(problem.contains("tl config set"), "{problem}");
    }
}

#[test]
fn the_names_of_all_signals_are_documented() {
    let off = setting_keys()
        .find(|key| key.name == "policy.signals.off")
        .expect("a key");
    for kind in crate::detection::SignalKind::ALL {
        assert!(off.allowed().contains(&format!("`{}`", kind.as_str())));
    }
}
