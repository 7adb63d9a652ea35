//! The frame around every page: project, branch, principal and rights, pending decisions, theme.
//!
//! Handlers return a [`Page`], which is only the content. The middleware [`complete_page`] renders
//! the frame around it, refusals included, so that no page can be without it.

use application::history::list_recorded_history;
use application::inbox::{PendingDecisions, count_pending_decisions};
use application::views::OperationView;
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::authorization::{AuthenticatedPrincipal, Scope};
use domain::ids::{OperationId, Principal};
use domain::operation::Verb;
use domain::scope_table::scope_of_form;
use maud::{DOCTYPE, Markup, html};
use serde::Deserialize;

use crate::components::{render_badge, render_toast};
use crate::export::{ExportFormat, export_page};
use crate::pages::projects::project_url;
use crate::titles::LogTitles;
use crate::{Dashboard, assets, urls};

/// The page in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NavigationEntry {
    Inbox,
    Board,
    Tree,
    Timeline,
    Sessions,
    Gates,
    Graph,
    Progress,
    Reviews,
    Story,
    Memory,
    Search,
    /// A page that is reached from others.
    Elsewhere,
}

/// The navigation of every page, in order: entry, address, name.
const NAVIGATION: &[(NavigationEntry, &str, &str)] = &[
    (NavigationEntry::Inbox, "/", "Inbox"),
    (NavigationEntry::Board, "/board", "Board"),
    (NavigationEntry::Tree, "/tree", "Tree"),
    (NavigationEntry::Timeline, "/timeline", "Timeline"),
    (NavigationEntry::Sessions, "/sessions", "Sessions"),
    (NavigationEntry::Gates, "/gates", "Gates"),
    (NavigationEntry::Graph, "/graph", "Graph"),
    (NavigationEntry::Progress, "/progress", "Progress"),
    (NavigationEntry::Reviews, "/reviews", "Reviews"),
    (NavigationEntry::Story, "/story", "Story"),
    (NavigationEntry::Memory, "/memory", "Memory"),
    (NavigationEntry::Search, "/search", "Search"),
];

/// The content of a page, as a response that [`complete_page`] makes a document of.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) place: NavigationEntry,
    pub(crate) title: String,
    pub(crate) content: Markup,
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        // Handlers return the content only. A template variable in every handler was rejected: a
        // new page could forget the frame, and refusals would have none.
        response.extensions_mut().insert(self);
        response
    }
}

/// What the reader of a page may do.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    principal: Option<Principal>,
    scope: Scope,
    is_read_only: bool,
}

impl Rights {
    fn of(dashboard: &Dashboard, reader: Option<&AuthenticatedPrincipal>) -> Self {
        Self {
            principal: reader.map(|reader| reader.principal.clone()),
            // The server puts a principal into every request; without one nothing is offered.
            scope: reader.map_or(Scope::Read, |reader| reader.scope),
            is_read_only: dashboard.only_shows,
        }
    }

    /// Whether a form, named without `/do/`, would be accepted from this reader.
    pub(crate) fn allow(&self, form: &str) -> bool {
        !self.is_read_only && self.scope.is_sufficient_for(scope_of_form(form))
    }

    /// Names the rights in the reader's words.
    fn describe(&self) -> &'static str {
        match self.scope {
            // Before the scope: on a read-only server no token decides anything.
            _ if self.is_read_only => "read-only server",
            Scope::Read => "may read",
            Scope::Agent => "may comment",
            Scope::Approve | Scope::Admin => "may decide",
        }
    }

    /// Says why there is nothing to press, and how to get the right to a form; nothing if the
    /// reader has it.
    pub(crate) fn explain_missing(&self, form: &str) -> Markup {
        let needed = scope_of_form(form);
        html! {
            @if self.allow(form) {}
            @else if self.is_read_only { p.quiet { "This server is read-only. Decide on one that was started without " code { "--read-only" } "." } }
            @else {
                p.quiet {
                    "Your token has the scope " code { (self.scope) } "; this needs " code { (needed) } ": "
                    code { "tl team token create NAME --as " (self.principal.as_ref().map_or_else(String::new, ToString::to_string)) " --scope " (needed) }
                }
            }
        }
    }
}

impl FromRequestParts<Dashboard> for Rights {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        dashboard: &Dashboard,
    ) -> Result<Self, Self::Rejection> {
        Ok(Self::of(
            dashboard,
            parts.extensions.get::<AuthenticatedPrincipal>(),
        ))
    }
}

/// A choice of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Theme {
    System,
    Light,
    Dark,
    Contrast,
}

const THEME_COOKIE: &str = "tl_theme";

impl Theme {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::System, "system", "Like the system"),
        (Self::Light, "light", "Light"),
        (Self::Dark, "dark", "Dark"),
        (Self::Contrast, "contrast", "High contrast"),
    ];

    fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, known, _)| *known == word)
            .map(|(theme, ..)| theme)
    }

    fn from_cookies(headers: &HeaderMap) -> Self {
        // A client may split its cookies over several headers (RFC 9113).
        let sent = headers.get_all(COOKIE).iter();
        let mut pairs = sent
            .filter_map(|header| header.to_str().ok())
            .flat_map(|header| header.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find_map(|(name, value)| Self::from_word(value).filter(|_| name == THEME_COOKIE))
            .unwrap_or(Self::System)
    }

    /// Returns the colour scheme that overrides the system's.
    fn forced_scheme(self) -> Option<&'static str> {
        matches!(self, Self::Light | Self::Dark).then(|| self.color_scheme())
    }

    fn color_scheme(self) -> &'static str {
        match self {
            Self::System | Self::Contrast => "light dark",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// Query of the theme links.
#[derive(Deserialize)]
pub(crate) struct ThemeQuery {
    #[serde(default)]
    back: String,
}

/// Keeps a theme in a cookie and redirects to the page it was chosen on.
///
/// A link and not a form: it changes nothing but the look of this browser, also for a token that
/// may only read.
pub(crate) async fn choose_theme(
    Path(word): Path<String>,
    Query(query): Query<ThemeQuery>,
) -> Response {
    // The word is written into a header below, so only known ones get there.
    let Some(_) = Theme::from_word(&word) else {
        return crate::pages::page_not_found().await.into_response();
    };
    let back = urls::local_address(&query.back);
    // `HttpOnly`: the server renders the theme, and no script has to read it.
    let cookie =
        format!("{THEME_COOKIE}={word}; Path=/; Max-Age=31536000; SameSite=Strict; HttpOnly");
    (
        // Not a permanent redirect, which browsers cache: the next choice would set no cookie.
        StatusCode::SEE_OTHER,
        [(LOCATION, back), (SET_COOKIE, cookie)],
    )
        .into_response()
}

/// What an action reports on the page it leads to. The query has a word and a number only: with the
/// text in the address, a link could put any sentence on the page.
#[derive(Default, Deserialize)]
struct ActionReport {
    #[serde(default)]
    done: String,
    operation: Option<u64>,
}

impl ActionReport {
    fn from_uri(uri: &Uri) -> Self {
        Query::try_from_uri(uri).map_or_else(|_| Self::default(), |Query(report)| report)
    }
}

/// Returns the format that an address asks a page in, if it is to be exported.
fn asked_format(uri: &Uri) -> Option<ExportFormat> {
    let mut pairs = uri.query()?.split('&').filter_map(|it| it.split_once('='));
    pairs.find_map(|(name, value)| ExportFormat::from_word(value).filter(|_| name == "format"))
}

/// Everything the frame shows.
struct Frame<'p> {
    page: &'p Page,
    project: &'p str,
    /// The projects of this server, if there are several, and whether each is this one.
    projects: Vec<(String, bool)>,
    report: ActionReport,
    /// The reader's own operation that was just recorded.
    recorded: Option<OperationView>,
    /// Of the plans it is about.
    titles: LogTitles,
    rights: Rights,
    /// `None` when the state cannot be read; the page says so itself.
    pending: Option<PendingDecisions>,
    theme: Theme,
    uri: &'p Uri,
}

/// Renders the frame around the [`Page`] of a response; other responses pass unchanged.
pub(crate) async fn complete_page(
    State(dashboard): State<Dashboard>,
    request: Request,
    next: Next,
) -> Response {
    let rights = Rights::of(
        &dashboard,
        request.extensions().get::<AuthenticatedPrincipal>(),
    );
    let (uri, theme) = (
        request.uri().clone(),
        Theme::from_cookies(request.headers()),
    );
    let headers = request.headers().clone();
    let mut response = next.run(request).await;
    let Some(page) = response.extensions_mut().remove::<Page>() else {
        return response;
    };
    if let Some(format) = asked_format(&uri).filter(|_| response.status().is_success()) {
        return export_page(&page, &dashboard.project, format, &headers);
    }
    // After the page: its handler has scanned the files, so the count is of the same moment.
    let pending = dashboard.ask_recorded(count_pending_decisions).await.ok();
    let report = ActionReport::from_uri(&uri);
    // The number comes from the address, which anybody can type. Only the reader's own operation
    // gets an undo button, so a link cannot make a person undo another one.
    let recorded = match (report.operation, rights.principal.clone()) {
        (Some(id), Some(reader)) => dashboard
            .ask_recorded(move |ctx, _| {
                // The bound is exclusive.
                list_recorded_history(ctx, 1, Some(OperationId(id.saturating_add(1))))
            })
            .await
            .ok()
            .and_then(|mut found| found.pop())
            .filter(|one| one.operation == OperationId(id) && one.by == reader),
        _ => None,
    };
    let titles = dashboard.load_log_titles(&recorded).await;
    let frame = Frame {
        page: &page,
        project: &dashboard.project,
        projects: dashboard.projects.list_names(&dashboard),
        report,
        recorded,
        titles,
        rights,
        pending,
        theme,
        uri: &uri,
    };
    // Of the handler's response only the status is kept: a `Page` has neither body nor headers.
    let status = response.status();
    (status, frame.render()).into_response()
}

impl Frame<'_> {
    fn count(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.count)
    }

    /// Returns the pages of the navigation: that of the story only where prose is written.
    fn list_pages(
        &self,
    ) -> impl Iterator<Item = &'static (NavigationEntry, &'static str, &'static str)> {
        let here = self.page.place;
        let has_prose = self
            .pending
            .as_ref()
            .is_none_or(|pending| pending.has_prose);
        NAVIGATION.iter().filter(move |(entry, ..)| {
            *entry != NavigationEntry::Story || has_prose || here == NavigationEntry::Story
        })
    }

    fn branch(&self) -> Option<&str> {
        self.pending.as_ref()?.branch.as_deref()
    }

    fn render(&self) -> Markup {
        let count = self.count();
        // The style sheet is always linked: a system that asks for more contrast gets it without a
        // choice.
        let contrast_media = (self.theme != Theme::Contrast).then_some("(prefers-contrast: more)");
        html! {
            (DOCTYPE)
            html lang="en" data-theme=[self.theme.forced_scheme()] {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content=(self.theme.color_scheme());
                    title {
                        @if count > 0 { "(" (count) ") " }
                        (self.page.title) " · " (self.project)
                        @if let Some(branch) = self.branch() { " · " (branch) }
                    }
                    // The count is part of the address, because browsers keep the icon of an
                    // address they know.
                    link rel="icon" href={ "/icons/" (count) } type="image/svg+xml";
                    @for style in assets::style_names() { link rel="stylesheet" href={ "/assets/" (style) }; }
                    link rel="stylesheet" href={ "/assets/" (assets::CONTRAST_STYLE) } media=[contrast_media];
                    // As a module: it runs deferred and in strict mode, and every form works without
                    // it.
                    script type="module" src="/assets/app.js" {}
                }
                body {
                    // First in the tab order, for keyboard users.
                    a.skip href="#main" { "Skip to the content" }
                    (self.render_header())
                    main id="main" tabindex="-1" { (self.render_report()) (self.page.content) }
                }
            }
        }
    }

    fn render_header(&self) -> Markup {
        html! {
            header.top {
                div.project {
                    a.brand href="/" { (self.project) }
                    @if let Some(branch) = self.branch() { span.branch { span.hidden { "branch " } (branch) } }
                    (self.render_projects())
                }
                nav aria-label="Pages" {
                    @for (other, address, name) in self.list_pages() {
                        @let keys = (*other == NavigationEntry::Search).then_some("Ctrl K: search and jump from any page");
                        a href=(address) title=[keys] aria-current=[(*other == self.page.place).then_some("page")] {
                            (name)
                            @if *other == NavigationEntry::Inbox && self.count() > 0 {
                                " " span #pending { (render_badge(self.count(), "wait for a decision")) }
                            }
                        }
                    }
                }
                div.reader {
                    // Says when the live connection is lost; a stale page must not look current.
                    tl-live role="status" {}
                    @if let Some(principal) = &self.rights.principal {
                        span.who { (principal_name(principal)) " · " (self.rights.describe()) }
                    }
                    (self.render_exports())
                    (self.render_themes())
                }
            }
        }
    }

    /// Renders the switcher between the projects of this server.
    fn render_projects(&self) -> Markup {
        html! {
            @if !self.projects.is_empty() {
                details.menu.projects {
                    summary { span.hidden { "Other projects" } span aria-hidden="true" { "▾" } }
                    ul {
                        @for (name, is_here) in &self.projects {
                            li { a href=(project_url(name, "/")) aria-current=[is_here.then_some("true")] { (name) } }
                        }
                        li { a href="/projects" { "Inbox of all" } }
                    }
                }
            }
        }
    }

    /// Returns the address of this page. That of a refused form is no page to come back to.
    fn address(&self) -> &str {
        let address = self.uri.path_and_query().map(|address| address.as_str());
        address
            .filter(|address| !address.starts_with("/do/"))
            .unwrap_or("/")
    }

    /// Renders what the reader has just done, with the way back.
    fn render_report(&self) -> Markup {
        let Some(text) = describe_action(&self.report.done) else {
            return html! {};
        };
        let undo = match &self.recorded {
            Some(one) if one.undone_by.is_none() && self.rights.allow("undo") => html! {
                form action="/do/undo" method="post" {
                    input type="hidden" name="operation" value=(one.operation);
                    // The redirect after the undo appends its own report; the address must not have
                    // two.
                    input type="hidden" name="back" value=(self.page_after_undo(one));
                    button type="submit" data-key="u" aria-keyshortcuts="u" {
                        @if one.verb == Verb::Undo { "Redo" } @else { "Undo" }
                        span.hidden { " operation " (one.operation) }
                    }
                }
                a href={ "/undo/" (one.operation) } { "What changed" }
            },
            _ => html! {},
        };
        let actions = html! {
            (undo)
            a href=(urls::without_report(self.address())) aria-label="Dismiss" { "✕" }
        };
        let about = html! {
            @if let Some(one) = &self.recorded { (self.titles.render_summary(one)) }
        };
        render_toast(text, &about, &actions)
    }

    /// Returns the page after an undo: in the inbox, the plan that comes back is open again.
    fn page_after_undo(&self, undone: &OperationView) -> String {
        let here = urls::without_report(self.address());
        match self.titles.subject_of(undone) {
            Some(plan) if self.page.place == NavigationEntry::Inbox && self.uri.path() == "/" => {
                urls::inbox_url(plan)
            }
            _ => here,
        }
    }

    /// Renders the links that export this page.
    fn render_exports(&self) -> Markup {
        let here = urls::without_report(self.address());
        html! {
            details.menu.exports {
                summary { span.hidden { "Export" } span aria-hidden="true" { "⇩" } }
                ul { @for (_, word, name) in ExportFormat::ALL {
                    li { a href=(urls::add_parameter(&here, "format", word)) download { "Export as " (name) } }
                } }
            }
        }
    }

    fn render_themes(&self) -> Markup {
        let here = self.address();
        html! {
            details.menu.themes {
                summary { span.hidden { "Theme" } span aria-hidden="true" { "◐" } }
                ul { @for (theme, word, name) in Theme::ALL {
                    li { a href={ "/theme/" (word) "?back=" (urls::encode_query_value(here)) } aria-current=[(theme == self.theme).then_some("true")] { (name) } }
                } }
            }
        }
    }
}

/// Returns the message of an action.
fn describe_action(word: &str) -> Option<&'static str> {
    Some(match word {
        "approved" => "Approved. Agents that waited for it continue.",
        "all-approved" => "Approved, all of them as shown. Agents that waited for them continue.",
        "kept" => {
            "Kept as it is, against the parent as it is now. Agents that waited for it continue."
        }
        "all-kept" => {
            "Kept as they are, against the plans above as they are now. Agents that waited for them continue."
        }
        "all-changes-requested" => {
            "Changes requested of all of them. They are the agent's turn; it gets your words at once."
        }
        "changes-requested" => {
            "Changes requested. The plan is the agent's turn; it gets your words at once."
        }
        "condemned" => "Rejected. What is below it is not valid until there is another text.",
        "commented" => "Comment added. The agent reads it while it waits, or in its next briefing.",
        "resolved" => "Resolved. The thread is closed.",
        "saved" => "Saved. Plans below it are compared with the new text.",
        "unchanged" => "Nothing changed: the text is the same.",
        "created" => "Created, with its file.",
        "restored" => "Restored. The text before it is kept as a version.",
        "accepted" => "Accepted as it is, with your reason.",
        "passed" => "Passed: the finding no longer applies.",
        "sent-back" => "Sent back to the author, with your words.",
        "concluded" => "The iteration has ended; its result is below.",
        "retried" => "Retried successfully.",
        "failed-again" => "Retried, and failed again; the tick shows the error.",
        "skipped" => "Skipped. The loop continues without it.",
        "progress" => "The progress is changed.",
        "phase" => "The phase is changed, in the plan's file.",
        "priority" => "The priority is changed, in the plan's file.",
        "inserted" => "Inserted, with its file. Those that follow have the next number.",
        "moved" => "Moved, with its files and everything below it.",
        "renamed" => "Renamed, with its files and every reference to it.",
        "split" => "Split. This is the second part; both are drafts.",
        "merged" => "Merged. Its text is at the end of the other plan.",
        "renumbered" => "Renumbered without gaps.",
        "removed" => "Removed, with everything below it.",
        "same-shape" => "Nothing changed: it is as it should be already.",
        "undone" => "Undone. The log keeps both operations.",
        _ => return None,
    })
}

/// Returns the name of a principal as people say it; the kind matters only for agents.
fn principal_name(principal: &Principal) -> String {
    match principal {
        Principal::Human(name) => name.clone(),
        other => other.to_string(),
    }
}
