//! A member's bytes: where they lie, and what they must be.

use std::borrow::Cow;
use std::ops::Range;

use flate2::Crc;

use super::method::{self, DEFLATED, STORED};
use super::{Directory, Fault, name};
use crate::Result;
use crate::fields::u16_le;

/// No member larger than this is read into memory.
pub const MAX_MEMBER_BYTES: u64 = 512 * 1024 * 1024;

/// Members larger than this must not shrink by more than [`BOMB_RATIO`].
const BOMB_BYTES: u64 = 64 * 1024 * 1024;
const BOMB_RATIO: u64 = 100;

/// Deflate cannot do better than 1,032 to 1, so a larger claim is a lie.
const DEFLATE_RATIO: u64 = 1032;

const HEADER_SIGNATURE: &[u8; 4] = b"PK\x03\x04";
const HEADER_LENGTH: usize = 30;

const ENCRYPTED: u16 = 1 | (1 << 6) | (1 << 13);
const PATCHED: u16 = 1 << 5;

/// What the directory says about a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name in text.
    pub name: Cow<'a, str>,
    /// Its size in bytes, unpacked.
    pub size: u64,
    /// Its size in bytes as it lies in the archive.
    pub packed: u64,
    /// Its CRC-32.
    pub checksum: u32,
    pub(super) stored_name: &'a [u8],
    pub(super) flags: u16,
    pub(super) method: u16,
    /// Where its local header begins in the archive.
    pub(super) header: u64,
}

impl Directory {
    /// Whether a member may be read, as far as the directory tells: for a look before the first read.
    ///
    /// # Errors
    /// [`Error::Zip`] for a member that is encrypted, packed by an unsupported method, too large,
    /// a bomb, or whose name leads out of the archive.
    pub fn check(&self, index: usize) -> Result<()> {
        self.member(index)?.check().map_err(|fault| self.fault(fault))
    }

    /// The byte range that surely holds a member's local header and data.
    ///
    /// The local header's length is known only once it is read; the range ends where the next
    /// member (or the directory) begins, so one request always suffices and, in an ordinary
    /// archive, fetches nothing else.
    ///
    /// # Errors
    /// As [`check`](Self::check), and for a member that lies outside the archive.
    pub fn span(&self, index: usize) -> Result<Range<u64>> {
        self.check(index)?;
        let member = self.member(index)?;
        let start = member.header;
        let next = self.boundaries.partition_point(|&boundary| boundary <= start);
        let outside = || {
            let problem = format!("it should start at byte {start}, inside or after the directory");
            self.fault(member.damaged(problem))
        };
        let boundary = *self.boundaries.get(next).ok_or_else(outside)?;
        // A local header holds at most 65,535 bytes of extra fields.
        let longest = start
            .saturating_add((HEADER_LENGTH + member.stored_name.len()) as u64)
            .saturating_add(u64::from(u16::MAX))
            .saturating_add(member.packed);
        Ok(start..boundary.min(longest))
    }

    /// A member's bytes out of the bytes of its [`span`](Self::span).
    ///
    /// # Errors
    /// [`Error::Zip`] when the data are not what the directory says, in place, size or CRC-32.
    pub fn decode(&self, index: usize, span: &[u8]) -> Result<Vec<u8>> {
        let member = self.member(index)?;
        let data = self.data(&member, index, span)?;
        let mut out = vec![0; usize::try_from(member.size).unwrap_or(usize::MAX)];
        member.unpack(data, &mut out).map_err(|fault| self.fault(fault))?;
        Ok(out)
    }

    /// As [`decode`](Self::decode), into a buffer of exactly the member's size.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_into(&self, index: usize, span: &[u8], out: &mut [u8]) -> Result<()> {
        let member = self.member(index)?;
        let data = self.data(&member, index, span)?;
        member.unpack(data, out).map_err(|fault| self.fault(fault))
    }

    /// The packed bytes inside a span, found by the local header.
    fn data<'a>(&self, member: &Member<'_>, index: usize, span: &'a [u8]) -> Result<&'a [u8]> {
        let range = self.span(index)?;
        if span.len() as u64 != range.end - range.start {
            return Err(self.fault(Fault::ShortRead {
                start: range.start,
                found: span.len() as u64,
                expected: range.end - range.start,
            }));
        }
        member.locate(span).map_err(|fault| self.fault(fault))
    }
}

impl Member<'_> {
    /// Whether it cannot be read without a password.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED != 0
    }

    /// The name of the method it is packed by, as the format's specification has it.
    #[must_use]
    pub fn method_name(&self) -> &'static str {
        if self.flags & PATCHED != 0 { "patch" } else { method::name(self.method) }
    }

    /// Whether its bytes may be read at all.
    fn check(&self) -> std::result::Result<(), Fault> {
        let name = || self.name.clone().into_owned();
        if name::escapes(&self.name) {
            return Err(Fault::Escapes { name: name() });
        }
        if self.is_encrypted() {
            return Err(Fault::Unsupported { name: name(), problem: "is encrypted".to_owned() });
        }
        if self.flags & PATCHED != 0 || !method::is_read(self.method) {
            let problem = format!(
                "is packed by method {} ({}); {} are supported",
                self.method,
                self.method_name(),
                method::READ
            );
            return Err(Fault::Unsupported { name: name(), problem });
        }
        if self.size > MAX_MEMBER_BYTES {
            let (size, limit) = (self.size, MAX_MEMBER_BYTES);
            return Err(Fault::TooLarge { name: name(), size, limit });
        }
        self.check_ratio()
    }

    fn check_ratio(&self) -> std::result::Result<(), Fault> {
        if self.method == STORED {
            if self.packed == self.size {
                return Ok(());
            }
            let (packed, size) = (self.packed, self.size);
            let problem = format!("it is stored in {packed} bytes but {size} bytes large");
            return Err(self.damaged(problem));
        }
        let ratio = match self.method {
            _ if self.size > BOMB_BYTES => BOMB_RATIO,
            DEFLATED => DEFLATE_RATIO,
            _ => u64::MAX,
        };
        if self.size > self.packed.saturating_mul(ratio) {
            let name = self.name.clone().into_owned();
            return Err(Fault::Bomb { name, packed: self.packed, size: self.size });
        }
        Ok(())
    }

    /// The packed data behind the local header at the start of `span`.
    fn locate<'s>(&self, span: &'s [u8]) -> std::result::Result<&'s [u8], Fault> {
        let header = || {
            let name_length = usize::from(u16_le(span, 26)?);
            let extra_length = usize::from(u16_le(span, 28)?);
            let rest = span.get(HEADER_LENGTH..)?;
            span.starts_with(HEADER_SIGNATURE)
                .then_some((rest.get(..name_length)?, rest.get(name_length + extra_length..)?))
        };
        let Some((stored_name, rest)) = header() else {
            let problem = format!("no member header at byte {}", self.header);
            return Err(self.damaged(problem));
        };
        if stored_name != self.stored_name {
            let other = String::from_utf8_lossy(stored_name);
            let problem = format!("its header at byte {} names `{other}`", self.header);
            return Err(self.damaged(problem));
        }
        let packed = usize::try_from(self.packed).ok().and_then(|packed| rest.get(..packed));
        packed.ok_or_else(|| {
            let (there, packed) = (rest.len(), self.packed);
            self.damaged(format!(
                "its {packed} bytes overlap what follows, there is room for {there}"
            ))
        })
    }

    fn unpack(&self, data: &[u8], out: &mut [u8]) -> std::result::Result<(), Fault> {
        if out.len() as u64 != self.size {
            let problem = format!("{} bytes were expected, it is {} large", out.len(), self.size);
            return Err(self.damaged(problem));
        }
        method::unpack(self.method, data, out).map_err(|problem| self.damaged(problem))?;
        let mut crc = Crc::new();
        crc.update(out);
        let (found, expected) = (crc.sum(), self.checksum);
        if found == expected {
            return Ok(());
        }
        Err(Fault::Checksum { name: self.name.clone().into_owned(), found, expected })
    }

    fn damaged(&self, problem: String) -> Fault {
        Fault::Damaged { name: self.name.clone().into_owned(), problem }
    }
}
