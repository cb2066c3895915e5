//! ROUGE-1, ROUGE-2 and ROUGE-L as EvalScope 1.14.1 computes them with `rouge_chinese` 1.0.3.
//!
//! Lin (2004), ROUGE: a package for automatic evaluation of summaries, with that package's ways: no
//! lower-casing, punctuation stays with its word, n-grams count once however often they occur, the
//! longest common subsequence runs over the whole texts, and F has `1e-8` in its denominator, so a
//! perfect F is 0.999999995. A text with a Chinese character is cut by jieba, any other at white space.

use crate::metrics::lcs;
use crate::metrics::tokens::{Vocabulary, count_common};
use crate::text::charclass::{char_at, slice};
use crate::text::jieba::{Segmenter, contains_chinese};
use crate::text::pystr;

/// Recall, precision and their harmonic mean, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Share of the reference that the prediction has.
    pub recall: f64,
    /// Share of the prediction that the reference has.
    pub precision: f64,
    /// `2 p r / (p + r + 1e-8)`.
    pub f: f64,
}

/// The three measures of one pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rouge {
    /// Distinct tokens.
    pub rouge_1: Agreement,
    /// Distinct pairs of neighbours.
    pub rouge_2: Agreement,
    /// Longest common subsequence of all tokens.
    pub rouge_l: Agreement,
}

/// ROUGE of a prediction against its reference; all 0 if either is empty or blank.
///
/// ```
/// # use _core::metrics::rouge::rouge;
/// let score = rouge("the left lung", "left lung");
/// assert_eq!((score.rouge_1.recall, score.rouge_1.precision), (1.0, 2.0 / 3.0));
/// assert_eq!((score.rouge_l.recall, score.rouge_2.precision), (1.0, 0.5));
/// ```
#[must_use]
pub fn rouge(prediction: &str, reference: &str) -> Rouge {
    RougeScorer::default().score(prediction, reference)
}

/// Scores pair after pair with the same buffers.
#[derive(Default)]
pub struct RougeScorer {
    tokenizer: Tokenizer,
    prediction: Vec<u32>,
    reference: Vec<u32>,
    grams: [Vec<u64>; 2],
}

impl RougeScorer {
    /// ROUGE of one pair; see [`rouge`].
    pub fn score(&mut self, prediction: &str, reference: &str) -> Rouge {
        self.tokenizer.vocabulary.clear();
        self.tokenizer.numbers(prediction, &mut self.prediction);
        self.tokenizer.numbers(reference, &mut self.reference);
        if self.prediction.is_empty() || self.reference.is_empty() {
            return Rouge::default();
        }
        let longest =
            lcs::length(&self.prediction, &self.reference, self.tokenizer.vocabulary.len());
        Rouge {
            rouge_1: self.distinct_agreement(1),
            rouge_2: self.distinct_agreement(2),
            rouge_l: Agreement::new(longest, self.prediction.len(), self.reference.len()),
        }
    }

    fn distinct_agreement(&mut self, order: usize) -> Agreement {
        let [ours, theirs] = &mut self.grams;
        distinct_grams(&self.prediction, order, ours);
        distinct_grams(&self.reference, order, theirs);
        Agreement::new(count_common(ours, theirs), ours.len(), theirs.len())
    }
}

/// What turns a text into numbered tokens.
#[derive(Default)]
struct Tokenizer {
    chinese: Segmenter,
    vocabulary: Vocabulary,
    spaced: String,
}

impl Tokenizer {
    /// Writes the tokens of a text, as numbers.
    fn numbers(&mut self, text: &str, numbers: &mut Vec<u32>) {
        numbers.clear();
        let vocabulary = &mut self.vocabulary;
        let mut push = |token: &str| numbers.push(vocabulary.number(token));
        if contains_chinese(text) {
            self.spaced.clear();
            let spaced = &mut self.spaced;
            self.chinese.cut(text, |word| {
                if !spaced.is_empty() {
                    spaced.push(' ');
                }
                spaced.push_str(word);
            });
            tokens(spaced, &mut push);
        } else {
            tokens(text, &mut push);
        }
    }
}

impl Agreement {
    #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
    fn new(shared: usize, prediction: usize, reference: usize) -> Self {
        let share = |whole: usize| if whole == 0 { 0.0 } else { shared as f64 / whole as f64 };
        let (precision, recall) = (share(prediction), share(reference));
        let f = 2.0 * ((precision * recall) / (precision + recall + 1e-8));
        Self { recall, precision, f }
    }
}

/// The distinct n-grams of one or two tokens, sorted, each packed into one number.
fn distinct_grams(tokens: &[u32], order: usize, grams: &mut Vec<u64>) {
    grams.clear();
    grams.extend(
        tokens
            .windows(order)
            .map(|gram| gram.iter().fold(0, |packed, &token| packed << 32 | u64::from(token))),
    );
    grams.sort_unstable();
    grams.dedup();
}

/// The text's lines, cut at white space; a blank line that is not empty is one empty token.
fn tokens(text: &str, push: &mut impl FnMut(&str)) {
    let broken = with_line_breaks(text);
    let text = broken.as_deref().unwrap_or(text).trim_end_matches(pystr::is_space);
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        let mut blank = true;
        pystr::split(line, |word| {
            blank = false;
            push(word);
        });
        if blank {
            push("");
        }
    }
}

/// A mark after which the line breaks if a fitting character follows.
struct Break {
    /// Class of the bytes a mark can start with.
    first: u8,
    /// Length of the mark at the start of a text, 0 if there is none.
    length: fn(&str) -> usize,
    follows: fn(char) -> bool,
}

const END: u8 = 1;
const PERIOD: u8 = 2;
const ELLIPSIS: u8 = 4;

/// The class of each byte; `。`, `！` and `？`, and `…` start with the ones above 0x7F.
const CLASSES: [u8; 256] = {
    let mut table = [0; 256];
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    {
        table[b'?' as usize] = END;
        table[0xE3] = END;
        table[0xEF] = END;
        table[b'.' as usize] = PERIOD;
        table[0xE2] = ELLIPSIS;
    }
    table
};

fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or_default()
}

/// The breaks in the order they are made; each sees those made before.
const BREAKS: [Break; 4] = [
    Break {
        first: END,
        length: |rest| rest.chars().next().filter(|&c| ends_sentence(c)).map_or(0, char::len_utf8),
        follows: no_closing_quote,
    },
    Break {
        first: PERIOD,
        length: |rest| if rest.starts_with("......") { 6 } else { 0 },
        follows: no_closing_quote,
    },
    Break {
        first: ELLIPSIS,
        length: |rest| if rest.starts_with("……") { "……".len() } else { 0 },
        follows: no_closing_quote,
    },
    Break { first: END, length: quoted_end, follows: |c| c != '，' && !ends_sentence(c) },
];

/// The text with a line break after each end of a sentence that something follows; none if it has
/// no such end.
fn with_line_breaks(text: &str) -> Option<String> {
    let seen = text.bytes().fold(0, |seen, byte| seen | class(byte));
    let mut broken = None;
    for rule in BREAKS.iter().filter(|rule| rule.first & seen != 0) {
        broken = break_after(broken.as_deref().unwrap_or(text), rule).or(broken);
    }
    broken
}

/// Breaks the line after each mark that a fitting character follows; that character is passed over.
fn break_after(text: &str, rule: &Break) -> Option<String> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    let bytes = text.as_bytes();
    while let Some(ahead) =
        bytes.get(at..).and_then(|rest| rest.iter().position(|&byte| class(byte) & rule.first != 0))
    {
        at += ahead;
        let end = at + (rule.length)(slice(text, at, text.len()));
        match char_at(text, end).filter(|&next| end > at && (rule.follows)(next)) {
            Some(next) => {
                out.push_str(slice(text, copied, end));
                out.push('\n');
                copied = end;
                at = end + next.len_utf8();
            }
            None => at += 1,
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(slice(text, copied, text.len()));
    Some(out)
}

fn ends_sentence(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '?')
}

fn no_closing_quote(c: char) -> bool {
    !matches!(c, '”' | '’')
}

/// Length of an end of a sentence and the closing quote after it.
fn quoted_end(rest: &str) -> usize {
    let mut chars = rest.chars();
    let (Some(end), Some(quote)) = (chars.next(), chars.next()) else { return 0 };
    if ends_sentence(end) && !no_closing_quote(quote) {
        end.len_utf8() + quote.len_utf8()
    } else {
        0
    }
}
