//! The page of scopes, from the table that every channel decides by.

use domain::authorization::Scope;
use domain::scope_table::SCOPE_TABLE;

use super::GENERATED_NOTE;

/// Renders `docs/reference/scopes.md`.
pub(super) fn render_scopes_page() -> String {
    let mut page = format!(
        "{GENERATED_NOTE}# Scopes\n\nThe scope of a token says what its holder may do; each includes those before it: {}. One table decides for \
         commands on a laptop, MCP tools and forms of the dashboard alike. What is not listed needs `read` if it only reads, and `agent` otherwise.\n\n\
         An MCP client acts as an agent, whichever token it carries: with a person's token it has `agent` at most, and the person decides through its \
         question, on the dashboard or in a terminal. Without a token, over stdio or with the secret of one's own server, the policy alone decides.\n\n\
         | action | scope | commands | MCP tools | forms |\n| --- | --- | --- | --- | --- |\n",
        Scope::ALL.map(|scope| format!("`{scope}`")).join(", ")
    );
    for row in SCOPE_TABLE {
        let commands: Vec<String> = row
            .commands
            .iter()
            .map(|name| format!("`tl {name}`"))
            .collect();
        page.push_str(&format!(
            "| {} | `{}` | {} | {} | {} |\n",
            row.action,
            row.scope,
            commands.join(", "),
            render_names(row.tools),
            render_names(row.forms)
        ));
    }
    page
}

fn render_names(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
