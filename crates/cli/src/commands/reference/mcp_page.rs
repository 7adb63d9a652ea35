//! Reference page of MCP tools, resources and prompts.

use application::Failure;
use domain::profile::{Profile, built_in_profile};
use mcp::surface::{Catalogue, Offered, Toolset};
use serde_json::Value;

use super::GENERATED_NOTE;

/// Renders the page for a project with every built-in profile.
pub(super) fn render_mcp_page() -> Result<String, Failure> {
    let profiles = ["story", "tickets", "trail", "milestones"];
    let profiles: Vec<Profile> = profiles
        .iter()
        .filter_map(|name| built_in_profile(name))
        .collect();
    let catalogue = Catalogue::of(&profiles)?;
    let words = Toolset::ALL.map(Toolset::word).join("`, `");
    let mut page = format!(
        "{GENERATED_NOTE}# MCP: tools, resources, prompts\n\n\
         What `tl mcp` (stdio) and `tl team serve` (HTTP) offer on a project with every built-in profile. The default list has the tools \
         marked **listed** of the sets the project has a use for; `more_tools` describes all others and `call_tool` calls them. \
         `--toolsets plan,ticket` lists whole sets and only these (`{words}`; the core is always there), `--read-only` leaves out \
         what changes anything, `--names seed` lists the earlier names, which are always accepted; over HTTP the paths `/mcp/plan,ticket`, `/mcp/readonly` and \
         `/mcp/ticket/readonly` do the same for one client. Results are structured, and the same as compact JSON text. A tool \
         that fails answers with `isError` and `{{\"error\": {{\"kind\", \"message\", \"next_steps\"}}}}`; a next step is \
         `{{\"tool\", \"arguments\", \"why\"?}}`, or `{{\"do\"}}` where no tool does it.\n\n## Tools\n"
    );
    let tools = catalogue.tools.iter();
    tools.for_each(|tool| page.push_str(&render_tool_section(tool)));
    page.push_str("\n## Resources\n\n| URI | is |\n| --- | --- |\n| `plan://briefing` | where the work stands |\n");
    for template in &catalogue.templates {
        page.push_str(&format!(
            "| `{}` | {} ({}) |\n",
            template.uri_template, template.description, template.mime_type
        ));
    }
    page.push_str("\n## Prompts\n\n| prompt | arguments | does |\n| --- | --- | --- |\n");
    for prompt in &catalogue.prompts {
        let arguments: Vec<String> = prompt
            .arguments
            .iter()
            .map(|argument| {
                format!(
                    "`{}`{}",
                    argument.name,
                    if argument.required { "" } else { " (optional)" }
                )
            })
            .collect();
        page.push_str(&format!(
            "| `{}` | {} | {} |\n",
            prompt.name,
            arguments.join(", "),
            prompt.description
        ));
    }
    Ok(page)
}

fn render_tool_section(tool: &Offered) -> String {
    // From the hints that clients get as well, so that page and protocol agree.
    let kind = match (tool.hints.read_only, tool.hints.destructive) {
        (true, _) => "reads",
        (false, true) if tool.hints.open_world => {
            "changes, and runs commands, which may do anything"
        }
        (false, true) => "changes, and may take something away",
        (false, false) => "changes",
    };
    let mut text = format!(
        "\n### {}\n\n{} *{kind}; set {}{}{}.*\n",
        tool.name,
        tool.description,
        tool.set.word(),
        if tool.is_listed { "; **listed**" } else { "" },
        tool.seed_name
            .map_or_else(String::new, |name| format!("; earlier `{name}`"))
    );
    let required: Vec<&str> = tool.input_schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = tool.input_schema["properties"].as_object();
    if properties.is_some_and(|properties| !properties.is_empty()) {
        text.push_str("\n| argument | | |\n| --- | --- | --- |\n");
    }
    for (name, schema) in properties.into_iter().flatten() {
        let what = match schema["enum"].as_array() {
            Some(words) => words
                .iter()
                .filter_map(Value::as_str)
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(", "),
            None => schema["type"].as_str().unwrap_or("anything").to_owned(),
        };
        let about = schema["description"].as_str().unwrap_or_default();
        let must = if required.contains(&name.as_str()) {
            ""
        } else {
            " (optional)"
        };
        text.push_str(&format!("| `{name}`{must} | {what} | {about} |\n"));
    }
    text
}
