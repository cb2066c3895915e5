//! The core of mmscore: everything that must be exact, fast or safe against hostile input.
//!
//! A room each: [`text`] (text as Python, NLTK and jieba see it), [`answers`] (what a reply answers,
//! and whether that is right), [`metrics`] (BLEU, ROUGE), [`media`] (types, data URIs), [`zip`]
//! (archives), [`parquet`]. Nothing here knows Python except the room `py`, which only converts.

pub mod answers;
pub mod error;
mod fields;
mod file;
mod hash;
pub mod media;
pub mod metrics;
pub mod parquet;
pub mod text;
pub mod zip;

#[cfg(feature = "python")]
mod py;

pub use error::{Error, Result};
