//! The MCP server: tools, resources and prompts over the same use cases as the command line.
//!
//! Two halves. [`surface`] and `tools` know no protocol and no SDK: plain values in and out, so
//! that they can be tested without either. [`protocol`] is the only module that knows `rmcp`, which
//! has a new major version every two months.

pub mod protocol;
pub mod surface;
mod tools;
