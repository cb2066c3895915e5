//! The core of mmscore: everything that must be exact, fast or safe against hostile input.
//!
//! Text in: [`pystr`] (Python's text semantics), [`answer`] (answer lines, choices, counts),
//! [`normalize`] (SLAKE's canonical form). Bytes in: [`zip`] (archives), [`media`] (types, data URIs).
//! Text metrics: [`words`] and [`punkt`] (NLTK's tokens), [`jieba`] (Chinese words), [`bleu`], [`rouge`].
//! Nothing here knows Python except the `py` module, which only converts.

pub mod bleu;
mod charclass;
pub mod error;
pub mod jieba;
mod lcs;
pub mod punkt;
pub mod rouge;
mod tokens;
pub mod words;

#[cfg(feature = "python")]
mod py;

pub use error::{Error, Result};
