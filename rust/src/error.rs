//! Every way the core can fail; `Display` is the sentence the user reads.

use std::borrow::Cow;

/// The core's result.
pub type Result<T> = std::result::Result<T, Error>;

/// One cause of failure a variant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused; the kind decides which Python `OSError` is raised.
    #[error("{context}: {source}")]
    Io {
        /// What was being done, to which file.
        context: String,
        /// The system's own error.
        source: std::io::Error,
    },
    /// An archive is damaged, or does not hold what was asked.
    #[error("archive `{archive}`: {fault}")]
    Zip {
        /// The archive's path or URL.
        archive: String,
        /// What is wrong.
        fault: crate::zip::Fault,
    },
    /// A Parquet file is damaged, or written in a way that is not supported.
    #[error("Parquet file `{path}`: {fault}")]
    Parquet {
        /// The file.
        path: String,
        /// What is wrong.
        fault: crate::parquet::Fault,
    },
    /// Text that should be base64 is not.
    #[error("bad base64 at position {position}, {problem}")]
    Base64 {
        /// In bytes, from 0.
        position: usize,
        /// What is there.
        problem: String,
    },

    /// A count is longer than Python's `int` reads, so the reference cannot score it either.
    #[error(
        "the integer of the {place} has {digits} digits, more than the {limit} that `int` reads"
    )]
    IntegerTooLong {
        /// `reply` or `target`.
        place: &'static str,
        /// The digits, leading zeros included.
        digits: usize,
        /// The most that are read.
        limit: usize,
    },

    /// A reference count is no integer.
    #[error("the target is `{0}`, expected an integer")]
    TargetNotAnInteger(String),

    /// A reference count has no double near it, so the relaxed accuracy is not defined.
    #[error("the target has {0} digits and is too large for the relaxed accuracy")]
    TargetTooLarge(usize),

    /// No parser for this language.
    #[error("unknown language `{0}`, expected `en` or `zh`")]
    UnknownLanguage(String),

    /// Two lists that belong together differ in length.
    #[error("{found} {what} for {replies} replies, expected one for each")]
    LengthsDiffer {
        /// What the second list holds.
        what: &'static str,
        /// How many it holds.
        found: usize,
        /// How many it should hold.
        replies: usize,
    },

    /// One row of a list cannot be scored.
    #[error("row {row}: {cause}")]
    Row {
        /// Its number, from 1.
        row: usize,
        /// Why.
        cause: Box<Error>,
    },
}

impl Error {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Zip { archive, fault } => fault.hint(archive),
            Self::Parquet { fault, .. } => fault.hint().map(Cow::Borrowed),
            _ => None,
        }
    }

    /// Whether the cause is a number beyond what the arithmetic of a score is defined for.
    #[must_use]
    pub fn is_number_too_large(&self) -> bool {
        match self {
            Self::TargetTooLarge(_) => true,
            Self::Row { cause, .. } => cause.is_number_too_large(),
            _ => false,
        }
    }
}
