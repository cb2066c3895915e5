//! The core of mmscore: everything that must be exact, fast or safe against hostile input.
//!
//! Text in: [`pystr`] (Python's text semantics), [`answer`] (answer lines, counts), [`choice`]
//! (choice labels), [`option_inference`] (`VLMEvalKit`'s reading of a choice), [`normalize`] (SLAKE's
//! canonical form), [`score`] (whole lists). Text metrics: [`words`] and [`punkt`] (NLTK's tokens),
//! [`jieba`] (Chinese words), [`bleu`], [`rouge`]. Bytes in: [`zip`] (archives), [`media`] (types,
//! data URIs), [`parquet`]. Nothing here knows Python except the `py` module, which only converts.

pub mod answer;
pub mod bleu;
mod charclass;
pub mod choice;
pub mod error;
mod fields;
pub mod jieba;
mod lcs;
pub mod media;
pub mod normalize;
pub mod option_inference;
pub mod parquet;
pub mod punkt;
pub mod pystr;
pub mod rouge;
pub mod score;
mod tokens;
pub mod words;
pub mod zip;

#[cfg(feature = "python")]
mod py;

pub use error::{Error, Result};
