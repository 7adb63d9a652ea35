//! The frame around every page: project, branch, principal and rights, pending decisions, theme.
//!
//! Handlers return a [`Page`], which is only the content. The middleware [`complete_page`] renders
//! the frame around it, refusals included, so that no page can be without it.

use application::count_pending::{PendingDecisions, count_pending_decisions};
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::authorization::{AuthenticatedPrincipal, Scope};
use domain::ids::Principal;
use domain::scope_table::scope_of_form;
use maud::{DOCTYPE, Markup, html};
use serde::Deserialize;

use crate::pages::{NAVIGATION, NavigationEntry};
use crate::{Dashboard, assets, urls};

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
    let Some(_) = Theme::from_word(&word) else {
        return crate::pages::page_not_found().await.into_response();
    };
    // One slash only: `//host` would be another server.
    let back = format!("/{}", query.back.trim_start_matches(['/', '\\']));
    let cookie =
        format!("{THEME_COOKIE}={word}; Path=/; Max-Age=31536000; SameSite=Strict; HttpOnly");
    (
        StatusCode::SEE_OTHER,
        [(LOCATION, back), (SET_COOKIE, cookie)],
    )
        .into_response()
}

/// Everything the frame shows.
struct Frame<'p> {
    page: &'p Page,
    project: &'p str,
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
    let mut response = next.run(request).await;
    let Some(page) = response.extensions_mut().remove::<Page>() else {
        return response;
    };
    // After the page: its handler has scanned the files, so the count is of the same moment.
    let pending = dashboard.ask_recorded(count_pending_decisions).await.ok();
    let frame = Frame {
        page: &page,
        project: &dashboard.project,
        rights,
        pending,
        theme,
        uri: &uri,
    };
    let status = response.status();
    (status, frame.render()).into_response()
}

impl Frame<'_> {
    fn count(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.count)
    }

    fn branch(&self) -> Option<&str> {
        self.pending.as_ref()?.branch.as_deref()
    }

    fn render(&self) -> Markup {
        let count = self.count();
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
                    main id="main" tabindex="-1" { (self.page.content) }
                }
            }
        }
    }

    fn render_header(&self) -> Markup {
        html! {
            header.top {
                div.project {
                    a.brand href="/" { (self.project) }
                    @if let Some(branch) = self.branch() { span.quiet { span.hidden { "branch " } (branch) } }
                }
                nav aria-label="Pages" {
                    @for (other, address, name) in NAVIGATION {
                        a href=(address) aria-current=[(*other == self.page.place).then_some("page")] {
                            (name)
                            @if *other == NavigationEntry::Now && self.count() > 0 {
                                " " span.badge #pending { (self.count()) span.hidden { " wait for a decision" } }
                            }
                        }
                    }
                }
                div.reader {
                    // Says when the live connection is lost; a stale page must not look current.
                    tl-live role="status" {}
                    @if let Some(principal) = &self.rights.principal {
                        span.quiet { (principal_name(principal)) " · " (self.rights.describe()) }
                    }
                    (self.render_themes())
                }
            }
        }
    }

    fn render_themes(&self) -> Markup {
        // The address of a refused form is no page to come back to.
        let here = self
            .uri
            .path_and_query()
            .map(|address| address.as_str())
            .filter(|address| !address.starts_with("/do/"))
            .unwrap_or("/");
        html! {
            details.themes {
                summary { span.hidden { "Theme" } span aria-hidden="true" { "◐" } }
                ul { @for (theme, word, name) in Theme::ALL {
                    li { a href={ "/theme/" (word) "?back=" (urls::encode_query_value(here)) } aria-current=[(theme == self.theme).then_some("true")] { (name) } }
                } }
            }
        }
    }
}

/// Returns the name of a principal as people say it; the kind matters only for agents.
fn principal_name(principal: &Principal) -> String {
    match principal {
        Principal::Human(name) => name.clone(),
        other => other.to_string(),
    }
}
