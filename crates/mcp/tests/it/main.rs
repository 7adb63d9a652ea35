//! The protocol without a project behind it: what arrives is answered whatever the state is in.

mod http;
mod pipe;
mod unusable;
