//! The core of mmscore: everything that must be exact, fast or safe against hostile input.
//!
//! Text in: [`pystr`] (Python's text semantics), [`answer`] (answer lines, choices, counts),
//! [`normalize`] (SLAKE's canonical form). Bytes in: [`zip`] (archives), [`media`] (types, data URIs).
//! Nothing here knows Python except the `py` module, which only converts.

pub mod error;
pub mod media;
pub mod parquet;
pub mod zip;

#[cfg(feature = "python")]
mod py;

pub use error::{Error, Result};
