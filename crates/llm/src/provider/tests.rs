//! Tests of the providers' data.

use super::*;

#[test]
fn the_shipped_data_is_whole() {
    let catalogue = Catalogue::built_in();
    for name in [
        "openai",
        "openai-compatible",
        "anthropic",
        "gemini",
        "ollama",
        "claude-cli",
        "codex-cli",
    ] {
        let spec = catalogue
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not shipped"));
        if let Some(url) = &spec.base_url {
            reqwest::Url::parse(url).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let mut ids: Vec<_> = spec.models.iter().map(|model| &model.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), spec.models.len(), "{name} lists a model twice");
    }
}

#[test]
fn a_users_file_changes_one_key_and_keeps_the_rest() {
    let text = r#"
        [anthropic]
        base_url = "https://proxy.example/anthropic"
        [[anthropic.models]]
        id = "claude-sonnet-4-5"
        price = { input = 1.0, output = 2.0 }
        [[anthropic.models]]
        id = "mine"
        [lab]
        dialect = "openai-chat"
        base_url = "http://10.0.0.7:8000/llm"
        structured = "prompt"
    "#;
    let catalogue = Catalogue::built_in().merge_toml(text).unwrap();
    let anthropic = catalogue.get("anthropic").unwrap();
    assert_eq!(
        anthropic.base_url.as_deref(),
        Some("https://proxy.example/anthropic")
    );
    assert_eq!(anthropic.key_env, ["ANTHROPIC_API_KEY"]);
    let sonnet = anthropic.model_spec("claude-sonnet-4-5");
    assert_eq!(sonnet.context, Some(200_000));
    let price = sonnet.price.unwrap();
    assert_eq!(
        (price.input, price.output, price.cache_read),
        (1.0, 2.0, Some(0.3))
    );
    assert_eq!(
        anthropic.models.len(),
        Catalogue::built_in().get("anthropic").unwrap().models.len() + 1
    );
    let lab = catalogue.get("lab").unwrap().model_spec("anything");
    assert_eq!(
        (lab.structured, lab.price),
        (Some(SchemaMode::Prompt), None)
    );
}

#[test]
fn a_wrong_file_is_named_with_its_problem() {
    let problem = |text: &str| {
        Catalogue::built_in()
            .merge_toml(text)
            .unwrap_err()
            .to_string()
    };
    assert!(
        problem("[anthropic]\nbasurl = 'x'")
            .starts_with("provider `anthropic`: unknown field `basurl`")
    );
    assert!(problem("[x]\nbase_url = 'x'").starts_with("provider `x`: missing field `dialect`"));
    assert!(problem("[x]\ndialect = 'telex'").contains("expected one of `openai-chat`"));
    assert!(problem("[x]\ndialect = 'command'").ends_with("there is no `command` table"));
    let no_prompt = "[x]\ndialect = 'command'\n[x.command]\nprogram = 'p'\nprompt_on_stdin = false";
    assert!(problem(no_prompt).ends_with("an argument must name `{prompt_file}`"));
    assert!(
        problem("[x]\ndialect = 'gemini'\nprice = { input = -1, output = 0 }")
            .ends_with("negative")
    );
    assert!(problem("[x\n").contains("line 1"));
}

#[test]
fn a_name_that_is_nearly_right_is_guessed() {
    let catalogue = Catalogue::built_in();
    assert_eq!(
        catalogue.closest_provider_name("antropic"),
        Some("anthropic")
    );
    assert_eq!(catalogue.closest_provider_name("zzz"), None);
}
