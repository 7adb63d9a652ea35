//! The plan for any MCP client: tools, resources and prompts over the same use cases as the command line.
//!
//! Two halves. What is offered ([`surface`], `tools`) knows no protocol and no SDK: plain values in and out, so
//! that it can be tested without either. How it travels ([`protocol`]) is the only place that knows `rmcp`.

pub mod protocol;
pub mod surface;
mod tools;
