//! `tl serve`: HTTP server for the dashboard, the API and MCP clients.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use application::Failure;
use clap::Args;
use domain::ids::Digest32;
use domain::ports::Clock;
use domain::settings::Storage;
use mcp::protocol::http_router;
use serde::Serialize;
use server::{
    BrowserRoutes, BrowserStore, IssuerDocuments, Limits, OauthOptions, PublicUrl, RateLimit,
    Routes, ServerOptions, generate_secret, serve,
};
use store::{SignedInBrowsers, SystemClock, fetch_issuer_document};
use web::{Dashboard, ServedProjects};

use crate::caller::find_calling_host;
use crate::commands::config::ProjectSettings;
use crate::commands::issuer::load_token_rules;
use crate::commands::mcp::ToolArgs;
use crate::exit_code::ExitCode;
use crate::gate_stats::ProjectHookLedger;
use crate::notifications::{load_notify_config, start_notifier};
use crate::settings;
use crate::ui::{BOLD, DIM, WARN, flush_output, styled};
use crate::wiring::{App, Project};

/// Run the HTTP server for the dashboard and MCP clients
///
/// Prints the URL of the dashboard, and the URL and token for MCP clients. Only this machine can
/// connect, unless `--listen` names another address. `THROUGHLINE_TOKEN` sets the token; otherwise
/// each start generates a new one. A browser that opened the URL stays signed in for 30 days, also
/// when the server is started again on the same port; `--sign-out` ends that. Tokens of
/// `tl team token create` are accepted too, each with its own principal and scope, and so are access
/// tokens of the issuer of `tl team issuer`. A client can select fewer tools by the path: `/mcp/core`, `/mcp/readonly`,
/// `/mcp/story/readonly`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl serve --open
  tl serve --port 0 --read-only
  tl serve --also ../shop --also ../novel   # three projects, one inbox over all
  tl serve --sign-out               # browsers have to open the new URL
  tl serve --no-decisions           # from a service manager, a container or an agent
  tl serve --public-url https://plans.example.org   # behind a reverse proxy on this machine
  THROUGHLINE_TOKEN=$(cat token) tl serve --listen 0.0.0.0")]
pub(crate) struct ServeArgs {
    /// Port to listen on; 0 for any free one
    #[arg(long, default_value_t = 7070)]
    port: u16,

    /// Address to listen on; other machines can connect, unencrypted, unless it is a loopback
    /// address
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,

    /// Public URL of this server behind an HTTPS reverse proxy
    #[arg(long, value_name = "URL")]
    public_url: Option<PublicUrl>,

    /// Rate limit per token, in requests per second, with a burst of four times as many
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,

    /// Open the dashboard in the browser
    #[arg(long)]
    open: bool,

    /// Limit the printed token to the scope of an agent; tokens of `tl team token create` keep their
    /// scope
    #[arg(long)]
    no_decisions: bool,

    /// Do not require a token: every process on this machine has access
    #[arg(long)]
    no_token: bool,

    /// Serve another project too, on the next port; the pages lead from one to the other
    #[arg(long, value_name = "DIR", conflicts_with = "public_url")]
    also: Vec<PathBuf>,

    /// Sign out every browser that used the dashboard of this project before
    #[arg(long)]
    sign_out: bool,

    #[command(flatten)]
    offered: ToolArgs,
}

/// The browsers that are signed in to the dashboard, in the user's state directory.
#[derive(Debug)]
struct ProjectBrowsers(SignedInBrowsers);

impl BrowserStore for ProjectBrowsers {
    fn load_cookies(&self) -> Vec<Digest32> {
        self.0.load_valid(SystemClock.now())
    }

    fn add_cookie(&self, cookie: Digest32) {
        // Not kept means signed out by the next restart; the browser works until then.
        let _ = self.0.add(cookie, SystemClock.now());
    }
}

/// The issuer's documents, over HTTPS.
#[derive(Debug)]
struct HttpDocuments;

impl IssuerDocuments for HttpDocuments {
    fn fetch_json(&self, url: &str) -> Result<serde_json::Value, String> {
        fetch_issuer_document(url)
    }
}

/// Addresses and token of the running server.
#[derive(Debug, Serialize)]
struct ServerAddresses {
    /// The project, by the name on its pages.
    project: String,
    directory: PathBuf,
    /// For MCP clients.
    url: String,
    /// For a browser; the token in it is exchanged for a cookie.
    dashboard: String,
    /// Public URL.
    public: Option<String>,
    token: Option<String>,
    /// The OAuth issuer whose access tokens are accepted.
    issuer: Option<String>,
    /// Whether the token acts as the person who started the server.
    decides: bool,
}

impl ServeArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let projects = ServedProjects::default();
        let others: Vec<App> = self
            .also
            .iter()
            .map(|directory| App::new(app.ui, Some(directory.clone())))
            .collect::<Result<_, _>>()?;
        if others.is_empty() {
            self.serve_project(app, self.port, &projects)?;
            return Ok(ExitCode::Done);
        }
        let is_served = std::thread::scope(|scope| {
            for (other, index) in others.iter().zip(1..) {
                let (projects, port) = (&projects, self.port_of(index));
                scope.spawn(move || self.serve_or_report(other, port, projects));
            }
            self.serve_or_report(app, self.port, &projects)
        });
        Ok(match is_served {
            true => ExitCode::Done,
            false => ExitCode::Failed,
        })
    }

    /// Serves one of several projects until a signal, and returns whether it could be. The others go
    /// on without it, so the failure is reported here and at once.
    fn serve_or_report(&self, app: &App, port: u16, projects: &ServedProjects) -> bool {
        let Err(failure) = self.serve_project(app, port, projects) else {
            return true;
        };
        let directory = app.start.display();
        app.ui
            .print_warning(format_args!("`{directory}` is not served:"));
        app.ui.report_failure(&failure);
        flush_output();
        false
    }

    /// Returns the port of another project: the ones after the first, or any.
    fn port_of(&self, index: u16) -> u16 {
        match self.port {
            0 => 0,
            port => port.saturating_add(index),
        }
    }

    /// Serves one project until a signal.
    fn serve_project(
        &self,
        app: &App,
        port: u16,
        projects: &ServedProjects,
    ) -> Result<(), Failure> {
        let beyond_this_machine = !self.listen.is_loopback();
        // Checked before anything is opened: the plans must not be readable by the network for a
        // moment.
        if self.no_token && beyond_this_machine {
            return Err(Failure::refused(
                "a server that other machines can reach requires a token",
            )
            .with_step("omit --no-token, or listen on 127.0.0.1"));
        }
        let project = app.find_project()?;
        if !self.no_decisions {
            project.refuse_non_persons(
                "serving a dashboard that decides",
                &[
                    "tl serve --no-decisions   # people decide with their own tokens: tl team token create NAME --as human:NAME",
                    "ask the person to run `tl serve` in their own terminal",
                ],
            )?;
        }
        // Whatever the policy says: an agent that starts the server knows its token, and could
        // approve with it.
        let started_by = find_calling_host(&project);
        let decides = !self.no_decisions && started_by.is_none();
        if let (Some(host), false) = (started_by, self.no_decisions) {
            let what = format!(
                "{host} started this server, so its token cannot decide as a person; run `tl serve` yourself"
            );
            app.ui
                .print_message(format_args!("{}: {what}", styled(WARN, "note")));
        }
        // MCP and dashboard share one store pool: two would compete for the same locks.
        let surface = self.offered.open_surface(app)?;
        let hooks = Arc::new(ProjectHookLedger {
            root: app.find_project()?.root,
        });
        let name = project.root.file_name().map_or_else(
            || project.root.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let settings = Arc::new(ProjectSettings {
            root: project.root.clone(),
        });
        let mut dashboard =
            Dashboard::new(&name, surface.workspace().clone(), hooks).with_settings(settings);
        // `--read-only` covers both surfaces: a dashboard that decides beside read-only MCP tools
        // would surprise.
        if self.offered.read_only {
            dashboard = dashboard.only_showing();
        }
        let dashboard = dashboard.among_projects(projects);
        let notifier = dashboard.clone();
        // Live-update streams never end by themselves; without closing them Ctrl-C would wait
        // forever.
        let close = dashboard.clone();
        let browser = BrowserRoutes {
            router: dashboard.router(),
            close: Arc::new(move || close.close()),
        };
        // On a replica the variable holds the token for the team server. It must not become this
        // server's token, which is printed and put into URLs.
        let is_remote = app.find_project()?.settings.storage == Storage::Remote;
        let given = settings::environment_variable("THROUGHLINE_TOKEN").filter(|_| !is_remote);
        // A given token has a cookie of its own, which is valid as long as the token is.
        let browsers = self.open_browser_store(&project.root)?;
        let browsers = given.is_none().then_some(browsers);
        // A new one at each start, unless it is set: a token that never changes stays valid in
        // every browser history and script it got into. Browsers that signed in are kept instead.
        let token = (!self.no_token).then(|| given.unwrap_or_else(generate_secret));
        let bound = projects.add(&dashboard, token.clone());
        let address = SocketAddr::new(self.listen, port);
        let limits = Limits {
            rate: RateLimit::per_second(self.rate),
            ..Limits::default()
        };
        let public = self.public_url.clone();
        let oauth = self.open_issuer(app, &project.root)?;
        let issuer = oauth.as_ref().map(|oauth| oauth.rules.issuer.clone());
        let options = ServerOptions {
            address,
            token: token.clone(),
            decides,
            beyond_this_machine,
            limits,
            public,
            browsers,
            oauth,
        };
        serve(
            surface.workspace().clone(),
            options,
            |server| Routes {
                programs: http_router(&surface, server),
                browser: Some(browser),
            },
            |address| {
                // Set once, because a socket is bound once.
                let _ = bound.set(address);
                let public = self.public_url.as_ref().map(PublicUrl::origin);
                let query = token.as_ref().map(|token| format!("?token={token}"));
                let ready = ServerAddresses {
                    url: format!("http://{address}/mcp"),
                    dashboard: format!("http://{address}/{}", query.unwrap_or_default()),
                    project: name,
                    directory: project.root.clone(),
                    public,
                    token,
                    issuer,
                    decides,
                };
                self.announce_server(app, address, &ready);
                self.notify_user(app, project, notifier, address);
            },
        )
        .map_err(|message| {
            Failure::unavailable(message).with_step("tl serve --port 0   # use any free port")
        })
    }

    /// Opens the browsers that are signed in to a project, and signs them out if that was asked for.
    fn open_browser_store(&self, root: &Path) -> Result<Arc<dyn BrowserStore>, Failure> {
        let home = settings::user_state_directory()?;
        let browsers = SignedInBrowsers::in_state_directory(&home, root);
        if self.sign_out {
            browsers.sign_out_all().map_err(|error| {
                Failure::unavailable(format!("cannot sign the browsers out: {error}"))
            })?;
        }
        Ok(Arc::new(ProjectBrowsers(browsers)))
    }

    /// Returns the OAuth issuer that a person chose for a project. One that does not respond is a
    /// warning: the server's own tokens work without it.
    fn open_issuer(&self, app: &App, root: &Path) -> Result<Option<OauthOptions>, Failure> {
        let Some(rules) = load_token_rules(root)? else {
            return Ok(None);
        };
        if self.no_token {
            return Err(Failure::refused(
                "a server without a token admits every client, so access tokens of an issuer mean nothing",
            )
            .with_step("omit --no-token")
            .with_step("tl team issuer remove"));
        }
        let oauth = OauthOptions {
            rules,
            documents: Arc::new(HttpDocuments),
            clock: Arc::new(SystemClock),
        };
        if let Err(why) = oauth.check_issuer() {
            let issuer = &oauth.rules.issuer;
            app.ui.print_warning(format_args!(
                "the keys of {issuer} cannot be read, and its access tokens are refused until they can: {why}"
            ));
        }
        Ok(Some(oauth))
    }

    /// Notifies the user of what waits, if there are channels. A configuration that cannot be used
    /// does not stop the server.
    fn notify_user(&self, app: &App, project: Project, dashboard: Dashboard, address: SocketAddr) {
        let config = match load_notify_config() {
            // Without a channel nothing is polled.
            Ok(config) if config.channels.is_empty() => return,
            Ok(config) => config,
            Err(failure) => {
                app.ui
                    .print_warning(format_args!("no notifications: {}", failure.message));
                return;
            }
        };
        let dashboard_url = match &self.public_url {
            Some(public) => public.origin(),
            None => format!("http://{address}"),
        };
        start_notifier(config, project, dashboard, dashboard_url);
    }

    /// Prints the addresses as soon as the socket is bound: with `--port 0` a script has no other
    /// way to learn the port.
    fn announce_server(&self, app: &App, address: SocketAddr, ready: &ServerAddresses) {
        // A missing browser is a warning: the server runs, and the URL is printed below.
        if self.open
            && let Err(error) = open_browser(&ready.dashboard)
        {
            app.ui
                .print_warning(format_args!("cannot open a browser: {error}"));
        }
        if app.ui.try_print_json(ready) {
            return;
        }
        // The servers of several projects start at the same time.
        let _turn = ANNOUNCEMENT.lock().unwrap_or_else(PoisonError::into_inner);
        match self.also.is_empty() {
            true => print_server(app, ready),
            false => print_project(app, ready, address),
        }
        if ready.token.is_none() {
            app.ui.print_message(format_args!(
                "{}: every process on this machine has access",
                styled(WARN, "open")
            ));
        }
        if ready.public.is_none() && !address.ip().is_loopback() {
            app.ui
                .print_warning("the token and the plans are sent unencrypted");
        }
        // The process goes on for days: in the buffer the port would reach no script.
        flush_output();
    }
}

/// Held while a server is announced, so that the lines of several projects are not mixed.
static ANNOUNCEMENT: Mutex<()> = Mutex::new(());

/// Prints the server of the only project.
fn print_server(app: &App, ready: &ServerAddresses) {
    app.ui.print_line(styled(BOLD, &ready.dashboard));
    let reach = match ready.decides {
        true => "dashboard: open it in a browser; anyone with this URL can decide as you",
        false => {
            "dashboard: open it in a browser; this URL cannot decide, people use their own token of `tl team token create`"
        }
    };
    app.ui.print_line(styled(DIM, reach));
    print_access(app, ready, "");
}

/// Prints the server of one of several projects, and how to sign in.
fn print_project(app: &App, ready: &ServerAddresses, address: SocketAddr) {
    let head = styled(BOLD, &ready.project);
    app.ui
        .print_line(format_args!("{head}  {}", ready.directory.display()));
    app.ui.print_line(format_args!("  {}", ready.dashboard));
    let sign_in = match (&ready.token, ready.decides) {
        (None, _) => "no sign-in is needed",
        (_, true) => "sign in: open this URL once in a browser; anyone with it can decide as you",
        (_, false) => {
            "sign in: open this URL once in a browser; it cannot decide, people use their own token of `tl team token create`"
        }
    };
    app.ui
        .print_line(format_args!("  {}", styled(DIM, sign_in)));
    app.ui.print_line(format_args!(
        "  inbox of all projects: http://{address}/projects"
    ));
    print_access(app, ready, "  ");
}

/// Prints how programs get in.
fn print_access(app: &App, ready: &ServerAddresses, indent: &str) {
    app.ui
        .print_line(format_args!("{indent}MCP clients: {}", ready.url));
    if let Some(token) = &ready.token {
        app.ui.print_line(format_args!("{indent}token: {token}"));
        let header = styled(DIM, "clients send it: Authorization: Bearer TOKEN");
        app.ui.print_line(format_args!("{indent}{header}"));
    }
    if let Some(issuer) = &ready.issuer {
        app.ui.print_line(format_args!(
            "{indent}access tokens: those of {issuer} are accepted too"
        ));
    }
    if let Some(public) = &ready.public {
        app.ui.print_line(format_args!(
            "{indent}public URL: {public}, for clients with a token of `tl team token create`"
        ));
    }
}

/// Opens a URL in the desktop's browser. It is passed as one argument, without a shell.
fn open_browser(address: &str) -> std::io::Result<()> {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "a browser is a program, and it was asked for by --open"
    )]
    let mut command = Command::new(opener);
    command
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
}
