//! Page *Settings*: every setting with its value and where it comes from. It changes none: a looser
//! policy needs a person at a terminal.

use axum::extract::State;
use maud::{Markup, html};

use super::{NavigationEntry, render_message, render_page};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::{Dashboard, SettingLine};

pub(crate) async fn settings_page(State(dashboard): State<Dashboard>) -> Result<Page, Refusal> {
    let source = dashboard.settings.clone();
    let settings = dashboard.aside(move || source.list_settings()).await?;
    Ok(render_page(
        NavigationEntry::Elsewhere,
        "Settings",
        &render_content(&settings),
    ))
}

fn render_content(settings: &[SettingLine]) -> Markup {
    let table_of = |key: &str| match key.rsplit_once('.') {
        Some((table, _)) => table.to_owned(),
        None => String::new(),
    };
    html! {
        h1 { "Settings" }
        // For the script, which knows what this browser allows.
        section #browser-notifications hidden {
            h2 { "This browser" }
            p { "Tell me when something begins to wait for a decision while a tab of this project is open in the background." }
            div.buttons { button type="button" { "Notify in this browser" } span.quiet role="status" {} }
            p.quiet { "Elsewhere: " code { "tl team notify" } " sends to Slack, ntfy, the desktop or a program of yours." }
        }
        p.quiet { "To change one: " code { "tl config set KEY VALUE" } ". A change that loosens the policy counts once a person accepts it: " code { "tl policy accept" } "." }
        @for group in settings.chunk_by(|one, other| table_of(&one.key) == table_of(&other.key)) {
            @if let Some(first) = group.first() {
                section {
                    h2 { @match table_of(&first.key).as_str() { "" => "General", table => (table) } }
                    ul.settings { @for setting in group { li { (render_setting(setting)) } } }
                }
            }
        }
    }
}

fn render_setting(setting: &SettingLine) -> Markup {
    html! {
        p { code { strong { (setting.key) } " = " (setting.value) } " " span.tag { (setting.source) } }
        p { (render_message(&setting.description)) }
        p.quiet { "Allowed: " (render_message(&setting.allowed)) @if let Some(default) = &setting.default { " · default: " code { (default) } } }
    }
}
