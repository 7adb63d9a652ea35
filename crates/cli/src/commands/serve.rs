//! `tl serve`

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use application::{Failure, FailureKind};
use clap::Args;
use mcp::protocol::{Limits, Options, secret, serve_http};
use serde::Serialize;

use crate::commands::mcp::OfferedArgs;
use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{BOLD, DIM, WARN, flush, styled};
use crate::wiring::App;

/// Serve the plans to MCP clients over HTTP, until Ctrl-C
///
/// Prints the address and the token a client must show. Only this machine can reach it, unless `--listen` names another
/// address. `THROUGHLINE_TOKEN` sets the token; otherwise each start makes a new one. A client may choose fewer tools by
/// the path: `/mcp/core`, `/mcp/readonly`, `/mcp/story/readonly`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl serve
  tl serve --port 0 --read-only
  THROUGHLINE_TOKEN=$(cat token) tl serve --listen 0.0.0.0")]
pub(crate) struct ServeArgs {
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 7070)]
    port: u16,

    /// The address to listen at; anything but a loopback address lets other machines in, unencrypted
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,

    /// Ask for no token: everybody on this machine may use it
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    offered: OfferedArgs,
}

/// Where the server is.
#[derive(Debug, Serialize)]
struct Ready {
    url: String,
    token: Option<String>,
}

impl ServeArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let beyond_this_machine = !self.listen.is_loopback();
        if self.open && beyond_this_machine {
            return Err(Failure::new(FailureKind::Refused, "a server other machines can reach asks for a token")
                .step("leave out --open, or listen at 127.0.0.1"));
        }
        let surface = self.offered.surface(app)?;
        let token = (!self.open).then(|| settings::environment("THROUGHLINE_TOKEN").unwrap_or_else(secret));
        let address = SocketAddr::new(self.listen, self.port);
        let options = Options { address, token: token.clone(), beyond_this_machine, limits: Limits::default() };
        serve_http(surface, options, |address| tell(app, address, token)).map_err(|message| {
            Failure::new(FailureKind::Unavailable, message).step("tl serve --port 0   # takes a free port")
        })?;
        Ok(ExitCode::Done)
    }
}

/// Says where the server is, at once: whoever started it reads this before it ends.
fn tell(app: &App, address: SocketAddr, token: Option<String>) {
    let ready = Ready { url: format!("http://{address}/mcp"), token };
    if app.ui.json {
        app.ui.value(&ready);
        return;
    }
    app.ui.line(styled(BOLD, &ready.url));
    match &ready.token {
        Some(token) => {
            app.ui.line(format!("token: {token}"));
            app.ui.line(styled(DIM, "clients send it: Authorization: Bearer TOKEN"));
        }
        None => app.ui.say(format!("{}: everybody on this machine may use it", styled(WARN, "open"))),
    }
    if !address.ip().is_loopback() {
        app.ui.say(format!("{}: the token and the plans travel unencrypted", styled(WARN, "warning")));
    }
    flush();
}
