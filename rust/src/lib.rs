//! The core of mmscore: everything that must be exact, fast or safe against hostile input.
//!
//! Text in: [`pystr`] (Python's text semantics), [`answer`] (answer lines, counts), [`choice`]
//! (choice labels), [`option_inference`] (`VLMEvalKit`'s reading of a choice), [`normalize`] (SLAKE's
//! canonical form), [`score`] (whole lists). Bytes in: [`zip`] (archives), [`media`] (types, data URIs).
//! Nothing here knows Python except the `py` module, which only converts.

pub mod answer;
pub mod choice;
pub mod error;
pub mod media;
pub mod normalize;
pub mod option_inference;
pub mod pystr;
pub mod score;
pub mod zip;

#[cfg(feature = "python")]
mod py;

pub use error::{Error, Result};
