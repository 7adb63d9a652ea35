//! Core tools: position, next work, explanations; offered on every project.

mod brief;
mod next;
mod wait;
mod where_tool;
mod why;

pub(super) use brief::BRIEF;
pub(super) use next::NEXT;
pub(super) use wait::WAIT;
pub(super) use where_tool::WHERE;
pub(super) use why::WHY;
