//! The core's own tests, run by `cargo test` with no Python.
mod metrics;
