//! Middleware between a caller and a model: each layer is a [`Model`](crate::Model) around a model,
//! with one concern.

// The order in which they are stacked is in `connect.rs`.
pub(crate) mod budget;
pub(crate) mod cassette;
pub(crate) mod limiter;
pub(crate) mod retry;
pub(crate) mod seconds;
pub(crate) mod structured;
pub(crate) mod timeouts;

#[cfg(test)]
pub(crate) mod fakes;
