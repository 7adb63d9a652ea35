//! `tl story model`: which model, and whether it works. The choice is the user's, never the project's.

use crate::{assert_refused, story};

#[test]
fn without_a_choice_no_model_is_asked() {
    let project = story();
    assert!(
        project
            .ok(&["story", "model", "check"])
            .stdout
            .contains("no model is configured")
    );
    // A project has no say.
    project.write("llm.toml", "provider = \"anthropic\"\n");
    project.write(".throughline/llm.toml", "provider = \"anthropic\"\n");
    assert_eq!(
        project.json(&["story", "model", "check"])["model"],
        "offline"
    );
}

#[test]
fn a_provider_that_is_not_set_up_says_what_to_do() {
    let project = story().with_environment("THROUGHLINE_LLM_PROVIDER", "anthropik");
    assert_refused(
        &project,
        &["story", "model", "check"],
        "unavailable",
        &["did you mean `anthropic`"],
    );
    let project = story().with_environment("THROUGHLINE_LLM_PROVIDER", "anthropic");
    assert_refused(
        &project,
        &["story", "model", "check"],
        "unavailable",
        &["no API key", "ANTHROPIC_API_KEY"],
    );
}

#[test]
fn the_users_own_file_chooses() {
    let project = story();
    project.write("../home/llm.toml", "provider = \"mine\"\n\n[providers.mine]\ndialect = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9\"\ndefault_model = \"m\"\nretry = { attempts = 1 }\n");
    let run = project.run(&["story", "model", "check"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.stdout.contains("model mine/m") && run.stderr.contains("mine/m does not answer"),
        "{run:?}"
    );
    project.write("../home/llm.toml", "providr = \"mine\"\n");
    assert_refused(
        &project,
        &["story", "model", "check"],
        "invalid",
        &["llm.toml", "providr"],
    );
}
