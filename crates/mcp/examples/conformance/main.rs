//! The product's server with what the official conformance suite asks for around it. For tests only.
//!
//! The suite calls tools, prompts and resources by names of its own, which no product has. Here they are, in front of
//! the product's own server on a project of its own: transport, guard, lists, subscriptions, completion and log are
//! those of `tl serve`. Prints where it is, as `tl --json serve` does, and ends when it is told to.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on may panic"
)]

mod asking;
mod contents;
mod fixtures;
#[path = "../../tests/surface/world.rs"]
#[allow(dead_code, reason = "the tests of the surface use all of it")]
mod world;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};

use mcp::protocol::http_router_around;
use mcp::surface::{Surface, ToolSelection};
use rmcp::model::RequestStateCodec;
use serde_json::json;
use server::{Limits, Routes, ServerOptions, generate_secret, serve};

use crate::fixtures::Fixtures;
use crate::world::World;

fn main() -> Result<(), String> {
    let world = World::story();
    world.write(
        "acts/act-1/strategic-plan.md",
        "# Act 1\n\nThe keeper leaves the island.\n",
    );
    let surface =
        Surface::new(world, ToolSelection::default()).map_err(|failure| failure.message)?;
    let token = generate_secret();
    let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let options = ServerOptions {
        address,
        token: Some(token.clone()),
        decides: true,
        beyond_this_machine: false,
        limits: Limits::default(),
        public: None,
        browsers: None,
        oauth: None,
    };
    let seal = RequestStateCodec::new_unchecked(generate_secret().into_bytes());
    serve(
        surface.workspace().clone(),
        options,
        |server| Routes {
            programs: http_router_around(&surface, server, move |product| Fixtures {
                product,
                seal: seal.clone(),
            }),
            browser: None,
        },
        |address| {
            let ready = json!({ "url": format!("http://{address}/mcp"), "token": token });
            let mut out = std::io::stdout();
            writeln!(out, "{ready}").and_then(|()| out.flush()).unwrap();
        },
    )
}
