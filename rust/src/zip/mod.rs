//! Zip archives: the end record, a compact directory, a member's bytes.
//!
//! Everything but [`file`] is sans-IO: it says which byte range it needs and is given the bytes,
//! so a local file (by `pread`) and a remote one (by HTTP ranges) are read by the same code.
//!
//! Archives are strangers' files. Nothing read from one is trusted: offsets and sizes are checked
//! against the archive, counts against the directory, data against size and CRC-32.
//!
//! The rules are those of `CPython`'s `zipfile` where it has one: the directory's position is
//! measured from the end (so junk before the archive is harmless), the last of several entries of
//! one name wins, a name is UTF-8 when flag bit 11 says so and code page 437 otherwise, and is cut
//! at NUL.

mod directory;
mod fault;
mod file;
mod lookup;
mod member;
mod method;
mod name;
mod nearest;
mod opening;

pub use directory::Directory;
pub use fault::Fault;
pub use file::FileZip;
pub use member::{MAX_MEMBER_BYTES, Member};
pub use opening::Opening;
