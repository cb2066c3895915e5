//! Every way the core can fail; `Display` is the sentence the user reads.

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
}

impl Error {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Zip { fault, .. } => fault.hint(),
            Self::Parquet { fault, .. } => fault.hint(),
            _ => None,
        }
    }
}
