//! What can be wrong with an archive or with a request for one of its members.

use std::borrow::Cow;
use std::fmt;

use crate::Error;

/// One cause of failure a variant; `Display` continues after "archive `NAME`: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No end record, and the file does not begin like an archive either.
    #[error("no zip archive, its {size} bytes hold no end record")]
    NotZip {
        /// The file's length in bytes.
        size: u64,
    },
    /// It begins like an archive but has no end record.
    #[error("cut short, it begins like a zip archive but its {size} bytes hold no end record")]
    NoEnd {
        /// The file's length in bytes.
        size: u64,
    },
    /// The end record is there, but the directory it describes is not inside the file.
    #[error(
        "it ends after {size} bytes; its directory of {length} bytes should start at byte {start}"
    )]
    DirectoryOutside {
        /// The file's length in bytes.
        size: u64,
        /// The announced length of the directory.
        length: u64,
        /// The announced start of the directory.
        start: u64,
    },
    /// The archive is one of several volumes.
    #[error("one part of an archive in several volumes, which is not supported")]
    Volumes,
    /// The zip64 end record that the locator names is not there.
    #[error("its zip64 end record is damaged")]
    Zip64End,
    /// The directory is larger than is read into memory.
    #[error("its directory is {length} bytes long, at most {limit} are read")]
    DirectoryTooLarge {
        /// The announced length of the directory.
        length: u64,
        /// The most that is read.
        limit: u64,
    },
    /// A directory entry does not parse.
    #[error("its directory is damaged, entry {entry} at byte {at} {problem}")]
    Entry {
        /// Which entry, counted from 1.
        entry: u64,
        /// Its position in the file.
        at: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The directory holds another number of entries than the end record says.
    #[error("its directory holds {found} entries, its end record says {expected}")]
    Count {
        /// Entries there are.
        found: u64,
        /// Entries announced.
        expected: u64,
    },
    /// No member has the name.
    #[error("no member `{name}`{}", Nearest(.nearest.as_ref()))]
    Missing {
        /// The name asked for.
        name: String,
        /// The most similar name there is.
        nearest: Option<String>,
    },
    /// Several members end in the name asked for.
    #[error("{count} members end in `{name}`: {}", Names(.candidates, *.count))]
    Ambiguous {
        /// The name asked for.
        name: String,
        /// The first of them.
        candidates: Vec<String>,
        /// How many there are.
        count: usize,
    },
    /// A name that would lead out of a folder the archive were unpacked in.
    #[error("member `{name}` has a name that leads out of the archive")]
    Escapes {
        /// The name.
        name: String,
    },
    /// An index beyond the members.
    #[error("it holds {count} members, number {index} was asked for")]
    Index {
        /// The index asked for, from 0.
        index: usize,
        /// Members there are.
        count: usize,
    },
    /// The member is fine by the rules of the format, but not read here.
    #[error("member `{name}` {problem}")]
    Unsupported {
        /// The member.
        name: String,
        /// Why not: encrypted, or the compression method by name.
        problem: String,
    },
    /// The member is larger than is read into memory.
    #[error("member `{name}` is {size} bytes large; at most {limit} are read")]
    TooLarge {
        /// The member.
        name: String,
        /// Its announced size.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The member unpacks to implausibly many bytes.
    #[error("member `{name}` looks like a decompression bomb: {packed} bytes unpack to {size}")]
    Bomb {
        /// The member.
        name: String,
        /// Its compressed size.
        packed: u64,
        /// Its announced size.
        size: u64,
    },
    /// The member's data do not lie where the directory says.
    #[error("member `{name}` is damaged: {problem}")]
    Damaged {
        /// The member.
        name: String,
        /// What was found.
        problem: String,
    },
    /// The checksum differs.
    #[error(
        "member `{name}` is damaged: its CRC-32 is {found:08x}, the directory says {expected:08x}"
    )]
    Checksum {
        /// The member.
        name: String,
        /// Of the bytes read.
        found: u32,
        /// In the directory.
        expected: u32,
    },
    /// Fewer bytes came than the file's length promised.
    #[error("{found} bytes came from byte {start} on, {expected} were expected")]
    ShortRead {
        /// Where the read began.
        start: u64,
        /// Bytes that came.
        found: u64,
        /// Bytes asked for.
        expected: u64,
    },
}

impl Fault {
    /// What the user can do about it, where that is known.
    pub(crate) fn hint(&self, archive: &str) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::NotZip { .. } => Some(
                "check that the file is the archive and not, say, a web page or a Git LFS pointer",
            ),
            Self::NoEnd { .. }
            | Self::DirectoryOutside { .. }
            | Self::Zip64End
            | Self::Entry { .. }
            | Self::Count { .. }
            | Self::Damaged { .. }
            | Self::Checksum { .. } => Some("download the archive again and compare its size"),
            Self::Volumes => {
                Some("join the volumes first, for example with `zip -s 0 in.zip --out out.zip`")
            }
            Self::Ambiguous { .. } => Some("ask for the member by its full name"),
            Self::Unsupported { .. } => return Some(pack_again(archive).into()),
            Self::ShortRead { .. } => Some("let the download or copy finish, then run again"),
            _ => None,
        };
        hint.map(Cow::Borrowed)
    }
}

/// The line that packs an archive in a form that is read.
fn pack_again(archive: &str) -> String {
    let name = archive.rsplit(['/', '\\']).next().unwrap_or(archive);
    let name = name.split(['?', '#']).next().unwrap_or(name);
    let quoted = if name.contains(|c: char| !c.is_alphanumeric() && !"._-".contains(c)) {
        format!("'{}'", name.replace('\'', r"'\''"))
    } else {
        name.to_owned()
    };
    format!(
        "pack it again: `7z x -ounpacked -- {quoted} && cd unpacked && zip -qr ../repacked.zip .`"
    )
}

impl Error {
    /// The fault of an archive, which its sentence begins with.
    pub(crate) fn zip(archive: &str, fault: Fault) -> Self {
        Self::Zip { archive: archive.to_owned(), fault }
    }
}

struct Nearest<'a>(Option<&'a String>);

impl fmt::Display for Nearest<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |name| write!(out, "; the nearest is `{name}`"))
    }
}

/// The first names, and of how many.
struct Names<'a>(&'a [String], usize);

impl fmt::Display for Names<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, name) in self.0.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(out, "{comma}`{name}`")?;
        }
        if self.1 > self.0.len() { write!(out, ", ...") } else { Ok(()) }
    }
}
