//! Tests of the rules.

mod consistency;
