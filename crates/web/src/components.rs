//! Components of the design system as markup: buttons, badges, rows, tabs, dialogs, toasts, empty
//! states.
//!
//! Their styles are in `assets/components.css` and `assets/forms.css`; `/styleguide` of a debug
//! build shows each of them. Nothing here needs a script.

use maud::{Markup, html};

/// How much a button asks for attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ButtonKind {
    /// One of several actions.
    Plain,
    /// The action most readers want; at most one in sight.
    Primary,
    /// It takes something away.
    Danger,
    /// An action beside the content, without a border.
    Ghost,
    /// A plain one in a list.
    Small,
}

impl ButtonKind {
    const fn class(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Primary => Some("primary"),
            Self::Danger => Some("danger"),
            Self::Ghost => Some("ghost"),
            Self::Small => Some("small"),
        }
    }
}

/// Renders the button that sends its form; `key` is the key that does the same.
pub(crate) fn render_submit(kind: ButtonKind, label: &str, key: Option<char>) -> Markup {
    html! {
        button class=[kind.class()] type="submit" data-key=[key] aria-keyshortcuts=[key] { (label) (render_key_of(key)) }
    }
}

/// Renders a link that looks like a button.
pub(crate) fn render_link_button(kind: ButtonKind, label: &str, address: &str) -> Markup {
    let class = ["button", kind.class().unwrap_or_default()].join(" ");
    html! { a class=(class.trim_end()) href=(address) { (label) } }
}

/// Renders the button that opens the dialog with this id.
pub(crate) fn render_opener(
    kind: ButtonKind,
    label: &str,
    dialog: &str,
    key: Option<char>,
) -> Markup {
    html! {
        button class=[kind.class()] type="button" popovertarget=(dialog) data-key=[key] aria-keyshortcuts=[key] { (label) (render_key_of(key)) }
    }
}

fn render_key_of(key: Option<char>) -> Markup {
    // Hidden from screen readers, which announce `aria-keyshortcuts` of the button.
    html! { @if let Some(key) = key { kbd aria-hidden="true" { (key.to_ascii_uppercase()) } } }
}

/// Renders a dialog. It is a popover: its opener needs no script, and Escape closes it.
pub(crate) fn render_dialog(id: &str, title: &str, content: &Markup) -> Markup {
    html! {
        div.dialog id=(id) popover role="dialog" aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            (content)
        }
    }
}

/// Renders the button that closes the dialog with this id.
pub(crate) fn render_closer(dialog: &str, label: &str) -> Markup {
    html! {
        button.ghost type="button" popovertarget=(dialog) popovertargetaction="hide" { (label) }
    }
}

/// Renders a number that asks for attention, with what it counts for those who do not see where it
/// stands.
pub(crate) fn render_badge(count: usize, what: &str) -> Markup {
    html! { span.badge { (count) span.hidden { " " (what) } } }
}

/// Renders a word about something.
pub(crate) fn render_tag(word: &str) -> Markup {
    html! { span.tag { (word) } }
}

/// Renders a number that belongs to a heading.
pub(crate) fn render_counter(text: &str) -> Markup {
    html! { span.counter { (text) } }
}

/// Renders the head of a page: title, one line below it, actions at the end.
pub(crate) fn render_page_head(title: &str, about: &Markup, actions: &Markup) -> Markup {
    html! {
        header.page-head {
            // Titles are the author's and may be in a script that is written from right to left.
            h1 dir="auto" { (title) }
            @if !actions.0.is_empty() { div.actions { (actions) } }
            @if !about.0.is_empty() { p { (about) } }
        }
    }
}

/// Renders the head of a section: title, counter, actions at the end.
pub(crate) fn render_section_head(title: &str, counter: &str, actions: &Markup) -> Markup {
    html! {
        div.section-head {
            h2 { (title) }
            @if !counter.is_empty() { (render_counter(counter)) }
            @if !actions.0.is_empty() { div.actions { (actions) } }
        }
    }
}

/// A row of a list. The whole row is the target of its link.
pub(crate) struct Row<'r> {
    pub(crate) title: &'r str,
    pub(crate) address: &'r str,
    /// Small, after the title.
    pub(crate) id: Option<&'r str>,
    /// At the end: status, meter, time.
    pub(crate) end: Markup,
}

/// Renders rows as a list.
pub(crate) fn render_rows<'r>(rows: impl IntoIterator<Item = Row<'r>>) -> Markup {
    html! {
        ul.rows { @for row in rows {
            li {
                a href=(row.address) dir="auto" { (row.title) }
                @if let Some(id) = row.id { code.id { (id) } }
                span.end { (row.end) }
            }
        } }
    }
}

/// A view of the same thing.
pub(crate) struct Tab<'t> {
    pub(crate) name: &'t str,
    pub(crate) address: &'t str,
    pub(crate) count: Option<usize>,
    pub(crate) is_current: bool,
}

/// Renders tabs: links, so that each view has an address.
pub(crate) fn render_tabs(label: &str, tabs: &[Tab<'_>]) -> Markup {
    html! {
        nav.tabs aria-label=(label) { @for tab in tabs {
            a href=(tab.address) aria-current=[tab.is_current.then_some("page")] {
                (tab.name)
                @if let Some(count) = tab.count { span.counter { (count) } }
            }
        } }
    }
}

/// Renders how much is done.
pub(crate) fn render_meter(done: usize, total: usize, what: &str) -> Markup {
    html! {
        span.meter {
            // HTML requires a positive `max`; there may be nothing to count yet.
            progress value=(done) max=(total.max(1)) aria-label=(what) {}
            (done) " of " (total)
        }
    }
}

/// Renders what just happened, what it was about, and actions.
pub(crate) fn render_toast(text: &str, about: &Markup, actions: &Markup) -> Markup {
    html! {
        div.toast role="status" {
            div {
                p { (text) }
                @if !about.0.is_empty() { p.label { (about) } }
            }
            @if !actions.0.is_empty() { div.buttons { (actions) } }
        }
    }
}

/// Renders the place of a list that is empty: what belongs there, and the next step.
pub(crate) fn render_empty_state(title: &str, text: &Markup, actions: &Markup) -> Markup {
    html! {
        div.empty {
            span.picture aria-hidden="true" { "✓" }
            h2 { (title) }
            p { (text) }
            @if !actions.0.is_empty() { div.actions { (actions) } }
        }
    }
}
