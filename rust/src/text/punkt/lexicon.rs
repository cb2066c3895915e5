//! The word types Punkt's English model knows, as one sorted, searchable list.

use std::cmp::Ordering;
use std::io::Read as _;
use std::sync::OnceLock;

/// Occurs in lower case.
pub(super) const LOWER: u8 = 1;
/// Occurs capitalised.
pub(super) const UPPER: u8 = 2;
/// Occurs capitalised inside a sentence.
pub(super) const UPPER_INSIDE: u8 = 4;
/// Occurs in lower case at the start of a sentence.
pub(super) const LOWER_FIRST: u8 = 8;
/// Is an abbreviation when a period follows.
pub(super) const ABBREVIATION: u8 = 16;
/// Often starts a sentence.
pub(super) const STARTER: u8 = 32;
/// Two types, joined by a tab, that a period between them does not part.
const COLLOCATION: u8 = 64;

/// Marks the byte that ends an entry and holds its bits.
const ENTRY_END: u8 = 0x80;

static DEFLATED: &[u8] = include_bytes!("../../../../data/derived/punkt.bin");

/// Word types in byte order, each with its bits.
pub(super) struct Lexicon {
    bytes: Vec<u8>,
    /// End of each entry in `bytes`, and the entry's bits.
    entries: Vec<(u32, u8)>,
}

impl Lexicon {
    /// The English model, inflated on first use.
    ///
    /// # Panics
    ///
    /// If the table inside the binary is damaged, which a test rules out.
    pub(super) fn english() -> &'static Self {
        static LEXICON: OnceLock<Lexicon> = OnceLock::new();
        #[expect(clippy::expect_used, reason = "part of the binary, and a test decodes it")]
        LEXICON.get_or_init(|| Self::decode(DEFLATED).expect("the embedded table decodes"))
    }

    /// The bits of a word type, 0 for an unknown one.
    pub(super) fn bits(&self, word_type: &str) -> u8 {
        self.find(|entry| entry.cmp(word_type.as_bytes()))
    }

    /// Whether two types are a collocation.
    pub(super) fn is_collocation(&self, first: &str, second: &str) -> bool {
        let parts = [first.as_bytes(), b"\t", second.as_bytes()];
        self.find(|entry| entry.iter().cmp(parts.iter().copied().flatten())) & COLLOCATION != 0
    }

    fn find(&self, compare: impl Fn(&[u8]) -> Ordering) -> u8 {
        let (mut low, mut high) = (0, self.entries.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let Some((entry, bits)) = self.entry(middle) else { return 0 };
            match compare(entry) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return bits,
            }
        }
        0
    }

    fn entry(&self, index: usize) -> Option<(&[u8], u8)> {
        let start = index.checked_sub(1).and_then(|before| self.entries.get(before));
        let &(end, bits) = self.entries.get(index)?;
        let start = start.map_or(0, |&(end, _)| end);
        Some((self.bytes.get(start as usize..end as usize)?, bits))
    }

    /// Each entry is coded as the length it shares with the one before, its other bytes, its bits.
    fn decode(deflated: &[u8]) -> Option<Self> {
        let mut coded = Vec::new();
        flate2::read::ZlibDecoder::new(deflated).read_to_end(&mut coded).ok()?;
        let (count, mut rest) = coded.split_first_chunk::<4>()?;
        let mut lexicon = Self::empty();
        let count = u32::from_le_bytes(*count) as usize;
        lexicon.entries.reserve(count);
        let mut start = 0_usize;
        while let Some((&shared, tail)) = rest.split_first() {
            let length = tail.iter().position(|&byte| byte >= ENTRY_END)?;
            let (own, tail) = tail.split_at_checked(length)?;
            let (&end, tail) = tail.split_first()?;
            let next = lexicon.bytes.len();
            lexicon.bytes.extend_from_within(start..start.checked_add(usize::from(shared))?);
            lexicon.bytes.extend_from_slice(own);
            lexicon.entries.push((u32::try_from(lexicon.bytes.len()).ok()?, end & !ENTRY_END));
            start = next;
            rest = tail;
        }
        (lexicon.entries.len() == count).then_some(lexicon)
    }

    const fn empty() -> Self {
        Self { bytes: Vec::new(), entries: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_model_is_whole() {
        let lexicon = Lexicon::decode(DEFLATED).expect("the embedded table decodes");
        assert_eq!(lexicon.bits("dr") & ABBREVIATION, ABBREVIATION);
        assert_eq!(lexicon.bits("since") & STARTER, STARTER);
        assert_eq!(lexicon.bits("##number##\tinternational"), COLLOCATION);
        assert_eq!(lexicon.bits("coverage"), UPPER_INSIDE | LOWER | UPPER);
        assert_eq!(lexicon.bits("accurate"), LOWER);
        assert_eq!(lexicon.bits("no such type"), 0);
        let count = |bit| lexicon.entries.iter().filter(|(_, bits)| bits & bit != 0).count();
        assert_eq!((count(ABBREVIATION), count(STARTER), count(COLLOCATION)), (156, 39, 37));
        assert_eq!(count(LOWER | UPPER), 20_366);
    }
}
