//! Chinese words as jieba 0.42.1's `cut` finds them, with its dictionary and its model of unknown
//! words.
//!
//! A block of Han characters, ASCII letters, digits and `+ # & . _ % -` is cut along the most likely
//! path through the dictionary; what the path leaves as single characters goes to the hidden Markov
//! model. Everything else comes out character by character. Sums are formed in jieba's order, and of
//! equal paths the one with the longer first word wins, so that not one cut differs.

mod dictionary;
mod unknown;

use std::ops::Range;

use crate::text::charclass::slice;
use dictionary::{Dictionary, HAN};
use unknown::Viterbi;

/// The words of a text, white space and punctuation included: joined they are the text.
///
/// ```
/// # use _core::text::jieba::cut;
/// assert_eq!(cut("肺部T2加权 MRI。"), ["肺部", "T2", "加权", " ", "MRI", "。"]);
/// ```
#[must_use]
pub fn cut(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    Segmenter::default().cut(text, |word| words.push(word));
    words
}

/// The segmenter's buffers, to be kept for the next text.
#[derive(Default)]
pub(crate) struct Segmenter {
    /// Code points of a block, all below 0x10000.
    symbols: Vec<u16>,
    /// Where each of them starts in the text, and where the last ends.
    starts: Vec<usize>,
    /// Score of the best path from each position on, and the length of its first word.
    route: Vec<(f64, usize)>,
    viterbi: Viterbi,
}

impl Segmenter {
    /// Hands each word of a text to `sink`, in order.
    pub(crate) fn cut<'a>(&mut self, text: &'a str, mut sink: impl FnMut(&'a str)) {
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if in_block(c) {
                self.symbols.clear();
                self.starts.clear();
                self.push(at, c);
                while let Some((at, c)) = chars.next_if(|&(_, c)| in_block(c)) {
                    self.push(at, c);
                }
                self.starts.push(chars.peek().map_or(text.len(), |&(at, _)| at));
                self.cut_block(text, &mut sink);
            } else {
                let mut end = at + c.len_utf8();
                if c == '\r' && chars.next_if(|&(_, next)| next == '\n').is_some() {
                    end += 1;
                }
                sink(slice(text, at, end));
            }
        }
    }

    fn push(&mut self, at: usize, c: char) {
        debug_assert!(in_block(c), "{c:?} is not looked up");
        self.symbols.push(u16::try_from(u32::from(c)).unwrap_or_default());
        self.starts.push(at);
    }

    fn cut_block<'a>(&mut self, text: &'a str, sink: &mut impl FnMut(&'a str)) {
        let dictionary = Dictionary::get();
        self.find_route(dictionary);
        let (mut at, mut singles) = (0, 0);
        while let Some(&(_, length)) = self.route.get(at).filter(|_| at < self.symbols.len()) {
            if length > 1 {
                self.cut_singles(text, singles..at, dictionary, sink);
                sink(self.word(text, at..at + length));
                singles = at + length;
            }
            at += length;
        }
        self.cut_singles(text, singles..at, dictionary, sink);
    }

    fn word<'a>(&self, text: &'a str, range: Range<usize>) -> &'a str {
        debug_assert!(
            range.end < self.starts.len(),
            "{range:?} of {} characters",
            self.starts.len()
        );
        let start = |index| self.starts.get(index).copied().unwrap_or(text.len());
        slice(text, start(range.start), start(range.end))
    }

    /// Fills `route` from the end of the block to its start.
    fn find_route(&mut self, dictionary: &Dictionary) {
        let count = self.symbols.len();
        self.route.clear();
        self.route.resize(count + 1, (0.0, 0));
        for at in (0..count).rev() {
            let Some((here, ahead)) = self.route.get_mut(at..).and_then(<[_]>::split_first_mut)
            else {
                return;
            };
            let score = |length: usize, weight: f64| {
                weight + ahead.get(length - 1).map_or(0.0, |&(score, _)| score)
            };
            let mut best = (f64::NEG_INFINITY, 0);
            dictionary.words_at(self.symbols.get(at..).unwrap_or_default(), |length, weight| {
                let score = score(length, weight);
                if score >= best.0 {
                    best = (score, length);
                }
            });
            if best.1 == 0 {
                best = (score(1, dictionary.unknown_weight()), 1);
            }
            *here = best;
        }
    }

    /// Cuts neighbours that the path left single: by the model, unless together they are a word.
    fn cut_singles<'a>(
        &mut self,
        text: &'a str,
        range: Range<usize>,
        dictionary: &Dictionary,
        sink: &mut impl FnMut(&'a str),
    ) {
        let symbols = self.symbols.get(range.clone()).unwrap_or_default();
        if symbols.len() < 2 || dictionary.contains(symbols) {
            range.for_each(|at| sink(self.word(text, at..at + 1)));
            return;
        }
        let mut viterbi = std::mem::take(&mut self.viterbi);
        let mut at = range.start;
        for part in symbols.chunk_by(|&a, &b| is_han(a) == is_han(b)) {
            let start = at;
            at += part.len();
            if part.first().is_some_and(|&symbol| is_han(symbol)) {
                let mut from = start;
                viterbi.cut(part, &dictionary.model, |end| {
                    sink(self.word(text, from..start + end));
                    from = start + end;
                });
            } else {
                cut_ascii(self.word(text, start..at), sink);
            }
        }
        self.viterbi = viterbi;
    }
}

/// Whether a character belongs to the blocks that are looked up.
fn in_block(c: char) -> bool {
    HAN.contains(&c)
        || c.is_ascii_alphanumeric()
        || matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-')
}

fn is_han(symbol: u16) -> bool {
    char::from_u32(u32::from(symbol)).is_some_and(|c| HAN.contains(&c))
}

/// Letters and digits, with a decimal part and a percent sign, are one word; so is what lies between.
fn cut_ascii<'a>(text: &'a str, sink: &mut impl FnMut(&'a str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let alphanumeric = |c: char| c.is_ascii_alphanumeric();
        let between = rest.find(alphanumeric).unwrap_or(rest.len());
        let (gap, word) = rest.split_at_checked(between).unwrap_or((rest, ""));
        let mut length = word.find(|c| !alphanumeric(c)).unwrap_or(word.len());
        let tail = slice(word, length, word.len());
        if let Some(decimals) = tail.strip_prefix('.') {
            let digits = decimals.find(|c: char| !c.is_ascii_digit()).unwrap_or(decimals.len());
            length += if digits > 0 { 1 + digits } else { 0 };
        }
        if slice(word, length, word.len()).starts_with('%') && length > 0 {
            length += 1;
        }
        [gap, slice(word, 0, length)].into_iter().filter(|x| !x.is_empty()).for_each(&mut *sink);
        rest = slice(word, length, word.len());
    }
}

/// Whether the reference sends a text to jieba: it holds a character from U+4E00 to U+9FA5.
pub(crate) fn contains_chinese(text: &str) -> bool {
    // Characters of that range start with the bytes E4 to E9; most texts have none of them.
    text.bytes().any(|byte| (0xE4..=0xE9).contains(&byte))
        && text.chars().any(|c| ('\u{4E00}'..='\u{9FA5}').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_join_to_the_text() {
        let text = "右肺\r\n上叶 3.5%病灶+#a\u{1c}。";
        assert_eq!(cut(text).concat(), text);
    }
}
