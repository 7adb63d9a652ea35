//! `tl serve`

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::Arc;

use application::{Failure, FailureKind};
use clap::Args;
use domain::settings::Storage;
use mcp::protocol::{Limits, Options, Pages, PublicUrl, Rate, secret, serve_http};
use serde::Serialize;
use web::Dashboard;

use crate::caller::calling_host;
use crate::commands::mcp::OfferedArgs;
use crate::exit_code::ExitCode;
use crate::gate_stats::Hooks;
use crate::settings;
use crate::ui::{BOLD, DIM, WARN, flush, styled};
use crate::wiring::App;

/// Serve the dashboard and MCP clients over HTTP, until Ctrl-C
///
/// Prints the dashboard's address, to be opened in a browser, and the address and token for MCP clients. Only this machine can reach it, unless `--listen` names another
/// address. `THROUGHLINE_TOKEN` sets the token; otherwise each start makes a new one. Tokens of `tl token create` are let in
/// as well, each in the name and as far as it was given for. A client may choose fewer tools by
/// the path: `/mcp/core`, `/mcp/readonly`, `/mcp/story/readonly`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl serve --open
  tl serve --port 0 --read-only
  tl serve --no-decisions           # from a service manager, a container or an agent
  tl serve --public-url https://plans.example.org   # behind a reverse proxy on this machine
  THROUGHLINE_TOKEN=$(cat token) tl serve --listen 0.0.0.0")]
pub(crate) struct ServeArgs {
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 7070)]
    port: u16,

    /// The address to listen at; anything but a loopback address lets other machines in, unencrypted
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,

    /// The address by which others know this server, behind a reverse proxy that speaks HTTPS
    #[arg(long, value_name = "URL")]
    public_url: Option<PublicUrl>,

    /// How many requests a second a token may make; four times as many at once
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,

    /// Open the dashboard in the browser
    #[arg(long)]
    open: bool,

    /// Decide nothing as a person: the printed token goes as far as an agent; tokens of `tl token create` decide as before
    #[arg(long)]
    no_decisions: bool,

    /// Ask for no token: everybody on this machine may use it
    #[arg(long)]
    no_token: bool,

    #[command(flatten)]
    offered: OfferedArgs,
}

/// Where the server is.
#[derive(Debug, Serialize)]
struct Ready {
    /// For MCP clients.
    url: String,
    /// For a browser, once: it gets a cookie for the token.
    dashboard: String,
    /// The address others know it by.
    public: Option<String>,
    token: Option<String>,
    /// Whether that token decides as the person who started the server.
    decides: bool,
}

impl ServeArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let beyond_this_machine = !self.listen.is_loopback();
        if self.no_token && beyond_this_machine {
            return Err(Failure::new(
                FailureKind::Refused,
                "a server other machines can reach asks for a token",
            )
            .step("leave out --no-token, or listen at 127.0.0.1"));
        }
        let project = app.project()?;
        if !self.no_decisions {
            project.refuse_agents(
                "serving a dashboard that decides",
                &[
                    "tl serve --no-decisions   # people decide with their own tokens: tl token create NAME --as human:NAME",
                    "ask the person to run `tl serve` in their own terminal",
                ],
            )?;
        }
        // Whatever the policy: a server that an agent started is not a person.
        let started_by = calling_host(&project);
        let decides = !self.no_decisions && started_by.is_none();
        if let (Some(host), false) = (started_by, self.no_decisions) {
            let what = format!(
                "{host} started this server, so it decides nothing as a person; run `tl serve` yourself"
            );
            app.ui.say(format_args!("{}: {what}", styled(WARN, "note")));
        }
        let surface = self.offered.surface(app)?;
        let hooks = Arc::new(Hooks {
            root: app.project()?.root,
        });
        let mut dashboard = Dashboard::new(surface.workspace().clone(), hooks);
        if self.offered.read_only {
            dashboard = dashboard.only_showing();
        }
        let close = dashboard.clone();
        let pages = Pages {
            router: dashboard.router(),
            close: Arc::new(move || close.close()),
        };
        // On a laptop the variable is its token for the team's server, which is nobody's to be shown here.
        let is_remote = app.project()?.settings.storage == Storage::Remote;
        let given = settings::environment("THROUGHLINE_TOKEN").filter(|_| !is_remote);
        let token = (!self.no_token).then(|| given.unwrap_or_else(secret));
        let address = SocketAddr::new(self.listen, self.port);
        let limits = Limits {
            rate: Rate::per_second(self.rate),
            ..Limits::default()
        };
        let public = self.public_url.clone();
        let options = Options {
            address,
            token: token.clone(),
            decides,
            beyond_this_machine,
            limits,
            public,
            pages: Some(pages),
        };
        serve_http(surface, options, |address| {
            self.tell(app, address, token, decides)
        })
        .map_err(|message| {
            Failure::new(FailureKind::Unavailable, message)
                .step("tl serve --port 0   # takes a free port")
        })?;
        Ok(ExitCode::Done)
    }

    /// Says where the server is, at once: whoever started it reads this before it ends.
    fn tell(&self, app: &App, address: SocketAddr, token: Option<String>, decides: bool) {
        let query = token
            .as_ref()
            .map(|token| format!("?token={token}"))
            .unwrap_or_default();
        let public = self.public_url.as_ref().map(PublicUrl::origin);
        let dashboard = format!("http://{address}/{query}");
        tell(
            app,
            address,
            &Ready {
                url: format!("http://{address}/mcp"),
                dashboard,
                public,
                token,
                decides,
            },
            self.open,
        );
    }
}

fn tell(app: &App, address: SocketAddr, ready: &Ready, open: bool) {
    if open && let Err(error) = open_browser(&ready.dashboard) {
        app.ui.say(format_args!(
            "{}: no browser could be opened: {error}",
            styled(WARN, "warning")
        ));
    }
    if app.ui.json {
        app.ui.value(ready);
        return;
    }
    app.ui.line(styled(BOLD, &ready.dashboard));
    let reach = match ready.decides {
        true => "the dashboard: open it in a browser; whoever has this address decides as you",
        false => {
            "the dashboard: open it in a browser; with this address nobody decides, with a token of `tl token create` people do"
        }
    };
    app.ui.line(styled(DIM, reach));
    app.ui.line(format_args!("MCP clients: {}", ready.url));
    match &ready.token {
        Some(token) => {
            app.ui.line(format_args!("token: {token}"));
            app.ui
                .line(styled(DIM, "clients send it: Authorization: Bearer TOKEN"));
        }
        None => app.ui.say(format_args!(
            "{}: everybody on this machine may use it",
            styled(WARN, "open")
        )),
    }
    if let Some(public) = &ready.public {
        app.ui.line(format_args!(
            "for others: {public}, each with a token of `tl token create`"
        ));
    } else if !address.ip().is_loopback() {
        app.ui.say(format_args!(
            "{}: the token and the plans travel unencrypted",
            styled(WARN, "warning")
        ));
    }
    flush();
}

/// Opens an address in the browser of this desktop. The address is one argument; no shell sees it.
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
