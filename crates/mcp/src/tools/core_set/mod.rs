//! Core tools: position, next work, explanations; offered on every project.

mod brief;
mod next;
mod wait;
mod where_tool;
mod why;

pub(super) use brief::Brief;
pub(super) use next::Next;
pub(super) use wait::Wait;
pub(super) use where_tool::Where;
pub(super) use why::Why;
