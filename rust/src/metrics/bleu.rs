//! Sentence BLEU of one n-gram order each, as EvalScope 1.14.1 computes it with NLTK 3.10.4.
//!
//! BLEU: a method for automatic evaluation of machine translation (ACL 2002). Clipped
//! n-gram precision of order n times the brevity penalty, one reference, no smoothing. NLTK stands
//! the smallest normal number in for a precision of zero, and its score is the exponential of a
//! logarithm: both are kept, so 1/6 is 0.16666666666666669. `ln` and `exp` are the C library's, as
//! in `CPython`; the last bit is equal where the two programs run on the same one.

use crate::metrics::tokens::{Vocabulary, count_common};
use crate::text::jieba::{Segmenter, contains_chinese};
use crate::text::words::WordTokenizer;

/// BLEU-1 to BLEU-4 of a prediction against its reference.
///
/// Each text is cut by jieba if it holds a Chinese character, else by NLTK's word tokenizer. All four
/// are 0 if no token is shared; an order without a shared n-gram gives about 2e-308, not 0.
///
/// ```
/// # use _core::metrics::bleu::bleu;
/// assert_eq!(bleu("left lung", "right lung"), [0.5, 2.225_073_858_507_262_6e-308,
///     2.225_073_858_507_262_6e-308, 2.225_073_858_507_262_6e-308]);
/// ```
#[must_use]
pub fn bleu(prediction: &str, reference: &str) -> [f64; 4] {
    BleuScorer::default().score(prediction, reference)
}

/// Scores pair after pair with the same buffers.
#[derive(Default)]
pub struct BleuScorer {
    tokenizer: Tokenizer,
    prediction: Vec<u32>,
    reference: Vec<u32>,
    grams: [Vec<u128>; 2],
}

impl BleuScorer {
    /// BLEU-1 to BLEU-4 of one pair; see [`bleu`].
    pub fn score(&mut self, prediction: &str, reference: &str) -> [f64; 4] {
        self.tokenizer.vocabulary.clear();
        self.tokenizer.numbers(prediction, &mut self.prediction);
        self.tokenizer.numbers(reference, &mut self.reference);
        let matches = self.matches();
        if matches.first() == Some(&0) {
            return [0.0; 4];
        }
        let penalty = brevity_penalty(self.prediction.len(), self.reference.len());
        let mut order = 0;
        matches.map(|matches| {
            order += 1;
            let precision = if matches == 0 {
                f64::MIN_POSITIVE
            } else {
                ratio(matches, self.prediction.len() + 1 - order)
            };
            penalty * precision.ln().exp()
        })
    }

    /// For each order, how many n-grams of the prediction the reference has, each as often as there.
    fn matches(&mut self) -> [usize; 4] {
        let mut matches = [0; 4];
        for (order, found) in (1..).zip(&mut matches) {
            let [ours, theirs] = &mut self.grams;
            sorted_grams(&self.prediction, order, ours);
            sorted_grams(&self.reference, order, theirs);
            *found = count_common(ours, theirs);
            if *found == 0 {
                break;
            }
        }
        matches
    }
}

/// What turns a text into numbered tokens.
#[derive(Default)]
struct Tokenizer {
    words: WordTokenizer,
    chinese: Segmenter,
    vocabulary: Vocabulary,
}

impl Tokenizer {
    /// Writes the tokens of a text, as numbers.
    fn numbers(&mut self, text: &str, numbers: &mut Vec<u32>) {
        numbers.clear();
        let vocabulary = &mut self.vocabulary;
        if contains_chinese(text) {
            self.chinese.cut(text, |word| numbers.push(vocabulary.number(word)));
        } else {
            self.words.tokenize(text, |word| numbers.push(vocabulary.number(word)));
        }
    }
}

/// All n-grams of up to four tokens, sorted, each packed into one number.
fn sorted_grams(tokens: &[u32], order: usize, grams: &mut Vec<u128>) {
    grams.clear();
    grams.extend(
        tokens
            .windows(order)
            .map(|gram| gram.iter().fold(0, |packed, &token| packed << 32 | u128::from(token))),
    );
    grams.sort_unstable();
}

/// 1 for a prediction longer than its reference, less for a shorter one.
fn brevity_penalty(prediction: usize, reference: usize) -> f64 {
    if prediction > reference { 1.0 } else { (1.0 - ratio(reference, prediction)).exp() }
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^53")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
