//! Snappy as a stream.
//!
//! The usual decoder wants a page whole. Writers put a hundred images into one page, so here the
//! page is decoded piece by piece, in constant memory, and what is not asked for is skipped by its
//! tags without reading it.
//!
//! Every known encoder compresses blocks of 64 KiB by themselves, so no copy reaches back over a
//! multiple of 64 KiB. The format does not promise it: a copy that reaches further is
//! [`Damage::Skipped`] after a skip, and the caller starts again [thoroughly](Snappy::new).

use std::io::Read;

use super::fault::Damage;
use super::source::Section;

/// The block size of the encoders, and the history kept for copies.
const BLOCK: u64 = 1 << 16;

/// How much decoded data is kept before the oldest is dropped.
const KEPT: usize = 4 << 16;

enum Element {
    Literal(u64),
    Copy { offset: usize, length: u64 },
}

/// A decoder that stands at a position of the decoded page.
pub(super) struct Snappy {
    input: Section,
    /// The decoded length, as the page says.
    total: u64,
    position: u64,
    /// History and what is decoded but not taken yet.
    decoded: Vec<u8>,
    taken: usize,
    /// What is left of a literal that was begun.
    pending: u64,
    thorough: bool,
    /// Whether history is missing that a copy may want.
    forgot: bool,
}

impl Snappy {
    /// Opens a page; `thorough` decodes also what is skipped and keeps all of it.
    pub(super) fn new(mut input: Section, thorough: bool) -> Result<Self, Damage> {
        let total = preamble(&mut input)?;
        Ok(Self {
            input,
            total,
            position: 0,
            decoded: Vec::new(),
            taken: 0,
            pending: 0,
            thorough,
            forgot: false,
        })
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

    /// Leaves out decoded bytes, by their tags alone as far as whole blocks reach.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), Damage> {
        let target = self.position + count;
        self.drop_ready(target);
        let block = target - target % BLOCK;
        if !self.thorough && self.position < block && self.taken == self.decoded.len() {
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
                return Err(Damage::new("a snappy page is shorter than announced"));
            }
            if self.decoded.len() > KEPT && !self.thorough {
                self.forgot = true;
                let old = self.decoded.len() - usize::try_from(BLOCK).unwrap_or(KEPT);
                self.decoded.drain(..old);
                self.taken -= old;
            }
            if self.pending > 0 {
                self.literal()?;
                continue;
            }
            match self.element()? {
                Element::Literal(length) => self.pending = length,
                Element::Copy { offset, length } => self.copy(offset, length)?,
            }
        }
        Ok(self.decoded.get(self.taken..).unwrap_or_default())
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
        let Some(mut from) = self.decoded.len().checked_sub(offset).filter(|_| offset > 0) else {
            return Err(if self.forgot && offset > 0 {
                Damage::Skipped
            } else {
                Damage::new("a snappy copy reaches before the data")
            });
        };
        debug_assert!(from < self.decoded.len(), "a copy begins inside what is decoded");
        for _ in 0..length {
            let byte = self.decoded.get(from).copied().unwrap_or_default();
            self.decoded.push(byte);
            from += 1;
        }
        Ok(())
    }

    fn element(&mut self) -> Result<Element, Damage> {
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
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// The decoded length that a snappy page begins with.
fn preamble(input: &mut Section) -> Result<u64, Damage> {
    let mut total = 0;
    for shift in (0..35).step_by(7) {
        let mut byte = [0];
        input.read_exact(&mut byte)?;
        total |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            return Ok(total);
        }
    }
    Err(Damage::new("a snappy page announces no length"))
}
