//! Tools for work with phases: tickets, focus, claims, evidence.

mod claim;
mod evidence;
mod focus;
mod release;
mod scenarios;
mod ticket;

pub(super) use claim::CLAIM;
pub(super) use evidence::EVIDENCE;
pub(super) use focus::FOCUS;
pub(super) use release::RELEASE;
pub(super) use scenarios::SCENARIOS;
pub(super) use ticket::TICKET;
