//! jieba's dictionary as a prefix tree, and its hidden Markov model, inflated on first use.
//!
//! The embedded table (`data/build_metric_tables.py`) holds, little-endian: the sum of all
//! frequencies; the numbers of nodes, frequencies, symbols and emission values; the distinct
//! frequencies; the symbols, common ones first; per node in level order its number of children; the
//! ranks of the nodes' symbols, of only children, of first children, and as gaps between siblings; the
//! ranks of the frequencies, of nodes with children and of those without; the start, transition and
//! emission values. 16-bit lists are split into low and high bytes.

use std::collections::HashMap;
use std::io::Read as _;
use std::iter;
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
    /// Rank of its symbol; siblings are sorted by it.
    symbol: u16,
    /// Rank of its frequency; 0 if the prefix is no word.
    rank: u16,
}

/// What is known of a character.
#[derive(Clone, Copy)]
struct Symbol {
    /// Its node as a first character.
    root: u32,
    /// Its place among all symbols, common ones first.
    rank: u16,
}

const NO_SYMBOL: Symbol = Symbol { root: NO_NODE, rank: u16::MAX };

/// The dictionary and the model of unknown words.
pub(super) struct Dictionary {
    /// By code point.
    symbols: Vec<Symbol>,
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
        let mut index = self.symbol(first).root;
        let mut rest = rest.iter();
        let mut length = 1;
        while let Some((node, children)) = self.node(index) {
            if node.rank != 0 {
                found(length, self.weight(node.rank));
            }
            let Some(&symbol) = rest.next().filter(|_| !children.is_empty()) else { return };
            let rank = self.symbol(symbol).rank;
            let Ok(child) = children.binary_search_by_key(&rank, |child| child.symbol) else {
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

    fn symbol(&self, symbol: u16) -> Symbol {
        self.symbols.get(usize::from(symbol)).copied().unwrap_or(NO_SYMBOL)
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
        let [nodes, frequencies] = [table.u32()?, table.u32()?];
        let [symbols, values] = [table.u32()?, table.u32()?];
        let weights = table.weights(frequencies as usize, total)?;
        let mut symbols = table.symbols(symbols as usize)?;
        let nodes = table.trie(nodes as usize, &mut symbols)?;
        let model = table.model(values as usize)?;
        table.rest.is_empty().then_some(Self { symbols, nodes, weights, model })
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

    /// What each code point up to the last Han character is, without its node.
    fn symbols(&mut self, count: usize) -> Option<Vec<Symbol>> {
        let mut symbols = vec![NO_SYMBOL; usize::from(HAN_FIRST) + HAN_COUNT];
        for (rank, symbol) in (0..).zip(self.plane(count)?) {
            symbols.get_mut(usize::from(symbol))?.rank = rank;
        }
        Some(symbols)
    }

    /// The nodes and one more, where the last one's children end; sets each symbol's own node.
    fn trie(&mut self, count: usize, symbols: &mut [Symbol]) -> Option<Vec<Node>> {
        let children: Vec<u16> = self.plane(count)?.collect();
        let below = children.iter().map(|&count| usize::from(count)).sum();
        // In level order the first level takes what is nobody's child.
        let first_level = count.checked_sub(below)?;
        let counts = || children.iter().copied().map(usize::from).filter(|&count| count > 0);
        let families = || iter::once(first_level).chain(counts());
        let only = families().filter(|&count| count == 1).count();
        let (first, parents) = (families().count() - only, counts().count());
        let (mut only, mut first) = (self.plane(only)?, self.plane(first)?);
        let mut gaps = self.plane(count - families().count())?;
        let (mut inner, mut outer) = (self.plane(parents)?, self.plane(count - parents)?);

        let mut nodes: Vec<Node> = Vec::with_capacity(count + 1);
        let mut first_child = u32::try_from(first_level).ok()?;
        for family in families() {
            let mut symbol = if family == 1 { only.next()? } else { first.next()? };
            for place in 0..family {
                if place > 0 {
                    symbol = symbol.checked_add(gaps.next()?)?.checked_add(1)?;
                }
                let &children = children.get(nodes.len())?;
                let rank = if children > 0 { inner.next()? } else { outer.next()? };
                nodes.push(Node { first_child, symbol, rank });
                first_child += u32::from(children);
            }
        }
        nodes.push(Node { first_child, symbol: 0, rank: 0 });
        let roots: HashMap<u16, u32> =
            nodes.iter().take(first_level).map(|node| node.symbol).zip(0..).collect();
        for symbol in symbols {
            symbol.root = roots.get(&symbol.rank).copied().unwrap_or(NO_NODE);
        }
        Some(nodes)
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
