//! Snappy and LZ4 as streams.
//!
//! The usual decoders want a page whole. Writers put a hundred images into one page, so here the
//! page is decoded piece by piece, in constant memory. Both formats are literals and copies of what
//! was decoded before; only how these are written differs.
//!
//! Of snappy, what is not asked for is skipped by its tags without reading it. Every known encoder
//! compresses blocks of 64 KiB by themselves, so no copy reaches back over a multiple of 64 KiB. The
//! format does not promise it: a copy that reaches further is [`Damage::Skipped`] after a skip, and
//! the caller starts again [thoroughly](Lz::snappy). LZ4 copies reach back 64 KiB from wherever they
//! are, so of LZ4 everything is decoded.

use std::io::Read;

use super::fault::Damage;
use super::source::Section;

/// The block size of snappy's encoders, how far LZ4 reaches back, and the history kept for copies.
const BLOCK: u64 = 1 << 16;

/// How much decoded data is kept before the oldest is dropped.
const KEPT: usize = 4 << 16;

/// How literals and copies are written.
enum Format {
    Snappy,
    Lz4 {
        /// The copy that follows the literal, as the token has its length.
        copy: Option<u8>,
        /// Whether blocks are framed as Hadoop does, each behind its two lengths.
        framed: bool,
        /// How many bytes of input are left where the block ends.
        block_end: u64,
    },
}

enum Element {
    Literal(u64),
    Copy { offset: usize, length: u64 },
}

/// A decoder that stands at a position of the decoded page.
pub(super) struct Lz {
    input: Section,
    format: Format,
    /// The decoded length, as the page says.
    total: u64,
    position: u64,
    /// History and what is decoded but not taken yet.
    decoded: Vec<u8>,
    taken: usize,
    /// What is left of a literal that was begun.
    pending: u64,
    /// Whether everything is decoded and all of it kept.
    thorough: bool,
    /// Whether history is missing that a copy may want.
    forgot: bool,
}

impl Lz {
    /// Opens a snappy page; `thorough` decodes also what is skipped and keeps all of it.
    pub(super) fn snappy(mut input: Section, thorough: bool) -> Result<Self, Damage> {
        let total = preamble(&mut input)?;
        Ok(Self::new(input, Format::Snappy, total, thorough))
    }

    /// Opens one LZ4 block, which decodes to `total` bytes.
    pub(super) fn lz4(input: Section, total: u64) -> Self {
        let format = Format::Lz4 { copy: None, framed: false, block_end: 0 };
        Self::new(input, format, total, false)
    }

    /// Opens LZ4 blocks as Hadoop frames them, or one bare block: old writers wrote either under the
    /// same name, and only the lengths tell.
    pub(super) fn lz4_framed(input: Section, total: u64) -> Result<Self, Damage> {
        if !is_framed(&input, total)? {
            return Ok(Self::lz4(input, total));
        }
        let block_end = input.left();
        let format = Format::Lz4 { copy: None, framed: true, block_end };
        Ok(Self::new(input, format, total, false))
    }

    fn new(input: Section, format: Format, total: u64, thorough: bool) -> Self {
        Self {
            input,
            format,
            total,
            position: 0,
            decoded: Vec::new(),
            taken: 0,
            pending: 0,
            thorough,
            forgot: false,
        }
    }

    /// Fills `out` with the next decoded bytes.
    pub(super) fn fill(&mut self, mut out: &mut [u8]) -> Result<(), Damage> {
        while !out.is_empty() {
            let ready = self.ready()?;
            let length = ready.len().min(out.len());
            let (now, later) = out.split_at_mut(length);
            now.copy_from_slice(ready.get(..length).unwrap_or_default());
            out = later;
            self.take(length);
        }
        Ok(())
    }

    /// Leaves out decoded bytes, of snappy by their tags alone as far as whole blocks reach.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), Damage> {
        let target = self.position + count;
        self.drop_ready(target);
        let block = target - target % BLOCK;
        let by_tags = matches!(self.format, Format::Snappy) && !self.thorough;
        if by_tags && self.position < block && self.taken == self.decoded.len() {
            self.skip_elements(block)?;
        }
        while self.position < target {
            self.ready()?;
            self.drop_ready(target);
        }
        Ok(())
    }

    fn drop_ready(&mut self, target: u64) {
        let wanted = usize::try_from(target - self.position).unwrap_or(usize::MAX);
        self.take(wanted.min(self.decoded.len() - self.taken));
    }

    fn take(&mut self, length: usize) {
        self.taken += length;
        self.position += length as u64;
    }

    fn skip_elements(&mut self, block: u64) -> Result<(), Damage> {
        let start = self.position;
        while self.position < block {
            let wanted = block - self.position;
            if self.pending > 0 {
                let count = self.pending.min(wanted);
                self.input.skip(count)?;
                self.pending -= count;
                self.position += count;
                continue;
            }
            match self.element()? {
                Element::Literal(length) => self.pending = length,
                Element::Copy { length, .. } if length <= wanted => self.position += length,
                Element::Copy { .. } => return Err(Damage::Skipped),
            }
        }
        if self.position > start {
            self.decoded.clear();
            self.taken = 0;
            self.forgot = true;
        }
        Ok(())
    }

    /// What is decoded and not taken; never empty.
    fn ready(&mut self) -> Result<&[u8], Damage> {
        while self.taken == self.decoded.len() {
            if self.position >= self.total {
                return Err(Damage::new("a compressed page is shorter than announced"));
            }
            if self.decoded.len() > KEPT && !self.thorough {
                self.forgot = true;
                let old = self.decoded.len() - usize::try_from(BLOCK).unwrap_or(KEPT);
                self.decoded.drain(..old);
                self.taken -= old;
            }
            self.decode_some()?;
        }
        Ok(self.decoded.get(self.taken..).unwrap_or_default())
    }

    /// Decodes elements until a block is there or the page ends.
    fn decode_some(&mut self) -> Result<(), Damage> {
        let left = usize::try_from(self.total - self.position).unwrap_or(usize::MAX);
        let target = self.decoded.len() + left.min(usize::try_from(BLOCK).unwrap_or(KEPT));
        while self.decoded.len() < target {
            if self.pending > 0 {
                self.literal()?;
                continue;
            }
            match self.element()? {
                Element::Literal(length) => self.pending = length,
                Element::Copy { offset, length } => self.copy(offset, length)?,
            }
        }
        Ok(())
    }

    fn literal(&mut self) -> Result<(), Damage> {
        let length = self.pending.min(BLOCK);
        let start = self.decoded.len();
        self.decoded.resize(start + usize::try_from(length).unwrap_or_default(), 0);
        self.input.read_exact(self.decoded.get_mut(start..).unwrap_or_default())?;
        self.pending -= length;
        Ok(())
    }

    fn copy(&mut self, offset: usize, length: u64) -> Result<(), Damage> {
        let Some(from) = self.decoded.len().checked_sub(offset).filter(|_| offset > 0) else {
            return Err(if self.forgot && offset > 0 {
                Damage::Skipped
            } else {
                Damage::new("a copy reaches before the data")
            });
        };
        let mut left = usize::try_from(length).unwrap_or(usize::MAX);
        // What is copied may be copied again; it then repeats with the period of the offset.
        while left > 0 {
            let count = left.min(self.decoded.len() - from);
            self.decoded.extend_from_within(from..from + count);
            left -= count;
        }
        Ok(())
    }

    fn element(&mut self) -> Result<Element, Damage> {
        match self.format {
            Format::Snappy => self.snappy_element(),
            Format::Lz4 { copy: Some(nibble), framed, block_end } => {
                self.format = Format::Lz4 { copy: None, framed, block_end };
                if self.input.left() <= block_end {
                    // A block ends with a literal.
                    return Ok(Element::Literal(0));
                }
                let offset = usize::from(u16::from_le_bytes(self.bytes()?));
                Ok(Element::Copy { offset, length: self.lz4_length(nibble)? + 4 })
            }
            Format::Lz4 { copy: None, framed, block_end } => {
                let block_end = if framed && self.input.left() <= block_end {
                    let [_, length] = [self.bytes()?, self.bytes()?].map(u32::from_be_bytes);
                    self.input.left().saturating_sub(u64::from(length))
                } else {
                    block_end
                };
                let [token] = self.bytes()?;
                self.format = Format::Lz4 { copy: Some(token & 15), framed, block_end };
                Ok(Element::Literal(self.lz4_length(token >> 4)?))
            }
        }
    }

    /// A length of LZ4: four bits, and bytes to be added while they are full.
    fn lz4_length(&mut self, nibble: u8) -> Result<u64, Damage> {
        let mut length = u64::from(nibble);
        let mut more = nibble == 15;
        while more {
            let [next] = self.bytes()?;
            length += u64::from(next);
            more = next == u8::MAX;
        }
        Ok(length)
    }

    fn snappy_element(&mut self) -> Result<Element, Damage> {
        let [tag] = self.bytes()?;
        let high = u64::from(tag >> 2);
        Ok(match tag & 3 {
            0 => Element::Literal(
                match high {
                    60 => u64::from(self.bytes::<1>()?[0]),
                    61 => u64::from(u16::from_le_bytes(self.bytes()?)),
                    62 => {
                        let [low, middle, top] = self.bytes()?;
                        u64::from(u32::from_le_bytes([low, middle, top, 0]))
                    }
                    63 => u64::from(u32::from_le_bytes(self.bytes()?)),
                    short => short,
                } + 1,
            ),
            1 => {
                let [low] = self.bytes()?;
                let offset = usize::from(tag >> 5) << 8 | usize::from(low);
                Element::Copy { offset, length: (high & 7) + 4 }
            }
            2 => {
                let offset = usize::from(u16::from_le_bytes(self.bytes()?));
                Element::Copy { offset, length: high + 1 }
            }
            _ => {
                let offset = usize::try_from(u32::from_le_bytes(self.bytes()?)).unwrap_or(0);
                Element::Copy { offset, length: high + 1 }
            }
        })
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        Ok(self.input.array()?)
    }
}

/// The decoded length that a snappy page begins with.
fn preamble(input: &mut Section) -> Result<u64, Damage> {
    let mut total = 0;
    for shift in (0..35).step_by(7) {
        let [byte] = input.array()?;
        total |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(total);
        }
    }
    Err(Damage::new("a snappy page announces no length"))
}

/// Whether the lengths before Hadoop's blocks add up to the page's.
fn is_framed(input: &Section, total: u64) -> Result<bool, Damage> {
    let mut input = input.clone();
    let mut decoded = 0;
    while !input.is_empty() {
        if input.left() < 8 {
            return Ok(false);
        }
        let [large, small] = [input.array()?, input.array()?].map(u32::from_be_bytes);
        decoded += u64::from(large);
        if u64::from(small) > input.left() {
            return Ok(false);
        }
        input.skip(u64::from(small))?;
    }
    Ok(decoded == total)
}
