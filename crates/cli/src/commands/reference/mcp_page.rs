//! Reference page of MCP tools, resources and prompts.

use application::Failure;
use domain::profile::built_in_profile;
use mcp::surface::{Catalogue, Offered, Toolset};
use serde_json::Value;

use super::GENERATED_NOTE;

/// Renders the page for a story project with trail and plan documents, and the additional ticket
/// tools.
pub(super) fn render_mcp_page() -> Result<String, Failure> {
    let of = |profiles: &[&str]| {
        Catalogue::of(
            &profiles
                .iter()
                .filter_map(|name| built_in_profile(name))
                .collect::<Vec<_>>(),
        )
    };
    // Two catalogues, because tool descriptions name the levels of the profiles: with `tickets` in
    // the first one, the story's tools would read differently.
    let (catalogue, tickets) = (of(&["story", "trail", "milestones"])?, of(&["tickets"])?);
    let mut page = format!(
        "{GENERATED_NOTE}# MCP: tools, resources, prompts\n\n\
         What `tl mcp` (stdio) and `tl serve` (HTTP) offer on a story project; the set `trail` where that profile is enabled, `plans` \
         with the profile `milestones`, `tickets` where a profile has work phases, `tick` only where `--toolsets` names it. `--toolsets core,story` chooses sets, \
         `--read-only` leaves out what changes anything; over HTTP the paths `/mcp/core`, `/mcp/story`, `/mcp/readonly` and \
         `/mcp/core/readonly` do the same for one client. Results are structured, and the same as compact JSON text. A tool \
         that fails answers with `isError` and `{{\"error\": {{\"kind\", \"message\", \"next_steps\"}}}}`.\n\n## Tools\n"
    );
    let of_tickets = |tool: &&Offered| tool.set == Toolset::Tickets;
    let (rest, more) = (
        catalogue.tools.iter().filter(|tool| !of_tickets(tool)),
        tickets.tools.iter().filter(of_tickets),
    );
    rest.chain(more)
        .for_each(|tool| page.push_str(&render_tool_section(tool)));
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
        "\n### {}\n\n{} *{}; set {}.*\n",
        tool.name,
        tool.description,
        kind,
        tool.set.word()
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
