//! jieba's dictionary as a prefix tree, and its hidden Markov model, inflated on first use.
//!
//! The embedded table (`data/build_metric_tables.py`) holds, little-endian: the sum of all
//! frequencies; the numbers of nodes, frequencies and emission values; the distinct frequencies; per
//! node in level order its symbol, its number of children and the rank of its frequency; the start,
//! transition and emission values. 16-bit lists are split into low and high bytes.

use std::io::Read as _;
use std::sync::OnceLock;

/// The Han characters the dictionary covers.
pub(super) const HAN: std::ops::RangeInclusive<char> = '\u{4E00}'..='\u{9FD5}';
const HAN_FIRST: u16 = 0x4E00;
const HAN_COUNT: usize = 0x9FD5 - 0x4E00 + 1;
/// A value for what the model has not seen, as jieba has it.
const UNSEEN: f64 = -3.14e100;
const NO_NODE: u32 = u32::MAX;

static DEFLATED: &[u8] = include_bytes!("../../../../data/derived/jieba.bin");

/// One prefix of a word.
#[derive(Clone, Copy)]
struct Node {
    /// Its children are the nodes from this one up to the next node's first.
    first_child: u32,
    symbol: u16,
    /// Rank of its frequency; 0 if the prefix is no word.
    rank: u16,
}

/// The dictionary and the model of unknown words.
pub(super) struct Dictionary {
    /// Node of each first character, by code point.
    roots: Vec<u32>,
    nodes: Vec<Node>,
    /// By rank: logarithm of a word's share of all words. Rank 0: of an unknown character.
    weights: Vec<f64>,
    pub(super) model: Model,
}

/// Logarithms of probabilities; states are in the order B E M S (begin, end, middle, single).
pub(super) struct Model {
    pub(super) start: [f64; 4],
    /// From state, to state.
    pub(super) transitions: [[f64; 4]; 4],
    emissions: Vec<[f64; 4]>,
}

impl Model {
    /// The emission of a Han character in each state.
    pub(super) fn emission(&self, symbol: u16) -> [f64; 4] {
        let index = usize::from(symbol.wrapping_sub(HAN_FIRST));
        self.emissions.get(index).copied().unwrap_or([UNSEEN; 4])
    }
}

impl Dictionary {
    /// The dictionary of jieba 0.42.1.
    ///
    /// # Panics
    ///
    /// If the table inside the binary is damaged, which a test rules out.
    pub(super) fn get() -> &'static Self {
        static DICTIONARY: OnceLock<Dictionary> = OnceLock::new();
        #[expect(clippy::expect_used, reason = "part of the binary, and a test decodes it")]
        DICTIONARY.get_or_init(|| Self::decode(DEFLATED).expect("the embedded table decodes"))
    }

    /// Calls `found` with the length and the weight of each word at the start of `symbols`.
    pub(super) fn words_at(&self, symbols: &[u16], mut found: impl FnMut(usize, f64)) {
        let Some((&first, rest)) = symbols.split_first() else { return };
        let mut index = self.roots.get(usize::from(first)).copied().unwrap_or(NO_NODE);
        let mut rest = rest.iter();
        let mut length = 1;
        while let Some((node, children)) = self.node(index) {
            if node.rank != 0 {
                found(length, self.weight(node.rank));
            }
            let Some(&symbol) = rest.next() else { return };
            let Ok(child) = children.binary_search_by_key(&symbol, |child| child.symbol) else {
                return;
            };
            index = node.first_child.saturating_add(u32::try_from(child).unwrap_or(NO_NODE));
            length += 1;
        }
    }

    /// Whether a word is in the dictionary.
    pub(super) fn contains(&self, word: &[u16]) -> bool {
        let mut whole = false;
        self.words_at(word, |length, _| whole |= length == word.len());
        whole
    }

    /// The weight of a character that is no word.
    pub(super) fn unknown_weight(&self) -> f64 {
        self.weight(0)
    }

    fn weight(&self, rank: u16) -> f64 {
        let weight = self.weights.get(usize::from(rank)).copied();
        debug_assert!(weight.is_some(), "no weight of rank {rank}");
        weight.unwrap_or(UNSEEN)
    }

    fn node(&self, index: u32) -> Option<(Node, &[Node])> {
        let index = index as usize;
        let &[node, next] = self.nodes.get(index..)?.first_chunk::<2>()?;
        let children = node.first_child as usize..next.first_child as usize;
        Some((node, self.nodes.get(children)?))
    }

    fn decode(deflated: &[u8]) -> Option<Self> {
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(deflated).read_to_end(&mut bytes).ok()?;
        let mut table = Table { rest: &bytes };
        let total = u64::from_le_bytes(table.array()?);
        let [nodes, frequencies, values] = [table.u32()?, table.u32()?, table.u32()?];
        let weights = table.weights(frequencies as usize, total)?;
        let (roots, nodes) = table.trie(nodes as usize)?;
        let model = table.model(values as usize)?;
        table.rest.is_empty().then_some(Self { roots, nodes, weights, model })
    }
}

/// What is left to read of the inflated table.
struct Table<'a> {
    rest: &'a [u8],
}

impl<'a> Table<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn f64(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// A list of 16-bit values.
    fn plane(&mut self, count: usize) -> Option<impl Iterator<Item = u16> + use<'a>> {
        let (low, high) = (self.bytes(count)?, self.bytes(count)?);
        Some(low.iter().zip(high).map(|(&low, &high)| u16::from_le_bytes([low, high])))
    }

    #[expect(clippy::cast_precision_loss, reason = "the sum is 60 million")]
    fn weights(&mut self, count: usize, total: u64) -> Option<Vec<f64>> {
        let log_total = (total as f64).ln();
        // jieba counts what is no word as one occurrence.
        let mut weights = vec![1_f64.ln() - log_total];
        for _ in 0..count {
            weights.push(f64::from(self.u32()?).ln() - log_total);
        }
        Some(weights)
    }

    fn trie(&mut self, count: usize) -> Option<(Vec<u32>, Vec<Node>)> {
        let (symbols, children, ranks) =
            (self.plane(count)?, self.plane(count)?, self.plane(count)?);
        let mut nodes: Vec<Node> = Vec::with_capacity(count + 1);
        let mut below = 0;
        for ((symbol, children), rank) in symbols.zip(children).zip(ranks) {
            nodes.push(Node { first_child: below, symbol, rank });
            below += u32::from(children);
        }
        nodes.push(Node { first_child: below, symbol: 0, rank: 0 });
        // In level order the first level takes what is nobody's child.
        let first_level = u32::try_from(count).ok()?.checked_sub(below)?;
        for node in &mut nodes {
            node.first_child += first_level;
        }
        let mut roots = vec![NO_NODE; usize::from(HAN_FIRST) + HAN_COUNT];
        for (index, node) in (0..first_level).zip(&nodes) {
            *roots.get_mut(usize::from(node.symbol))? = index;
        }
        Some((roots, nodes))
    }

    fn model(&mut self, count: usize) -> Option<Model> {
        let mut start = [UNSEEN; 4];
        for value in &mut start {
            *value = self.f64()?;
        }
        let mut transitions = [[UNSEEN; 4]; 4];
        for value in transitions.as_flattened_mut() {
            *value = self.f64()?;
        }
        let mut values = vec![UNSEEN];
        for _ in 0..count {
            values.push(self.f64()?);
        }
        // The table has the states in the order of their name, BEMS, as the model.
        let mut emissions = vec![[UNSEEN; 4]; HAN_COUNT];
        for state in 0..4 {
            for (row, rank) in emissions.iter_mut().zip(self.plane(HAN_COUNT)?) {
                *row.get_mut(state)? = *values.get(usize::from(rank))?;
            }
        }
        Some(Model { start, transitions, emissions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_table_is_whole() {
        let dictionary = Dictionary::decode(DEFLATED).expect("the embedded table decodes");
        assert_eq!(dictionary.nodes.len(), 498_110 + 1);
        let word: Vec<u16> = "肺部".encode_utf16().collect();
        assert!(dictionary.contains(&word));
        assert!(!dictionary.contains(&word[..0]));
    }
}
