//! Recordings: what was asked and answered, without secrets, for tests, audits and free re-runs.
//!
//! Two levels: `wire_tape` keeps HTTP exchanges byte by byte, the `cassette` layer keeps requests and answers. Both are
//! JSON Lines files that people can read, and both show the nearest recorded question when theirs is missing.

pub(crate) mod lines;
pub(crate) mod nearest;
pub(crate) mod scrub;
pub(crate) mod wire_tape;
