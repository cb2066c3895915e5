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
}
