//! What tests share: trees written as text, ports that need no disk, the story every store must be
//! able to tell, and a runner for the real program. Never a dependency of the product.

mod fake_ports;
mod hooks;
mod issuer;
mod postgres;
mod program;
pub mod search_story;
mod store_story;
mod tree_fixture;

pub use fake_ports::{FakeClock, FakeCommands, FakeFiles, FakeGit};
pub use hooks::{Answer, Session};
pub use issuer::Issuer;
pub use postgres::{Cluster, Database};
pub use program::{Output, Project};
pub use store_story::tell_store_story;
pub use tree_fixture::{node, parse_tree, render_tree, timestamp};
