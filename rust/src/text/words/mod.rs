//! English words and punctuation as NLTK 3.10.4's `word_tokenize` splits them.
//!
//! The text is cut into sentences ([`crate::text::punkt`]); each sentence is then rewritten step by step so
//! that white space stands between tokens. The steps and their order are NLTK's
//! (`NLTKWordTokenizer`, after the Treebank's own script): each sees the spaces the earlier
//! ones put in, so none can be dropped or moved. A step runs only if a character it looks for occurs.

mod contractions;
mod steps;

use crate::text::{punkt, pystr};

/// The tokens of a text: words, numbers, punctuation.
///
/// Opening double quotes come back as two backticks, closing ones as two apostrophes.
///
/// ```
/// # use _core::text::words::word_tokenize;
/// assert_eq!(word_tokenize("It isn't \"big\"."), ["It", "is", "n't", "``", "big", "''", "."]);
/// ```
#[must_use]
pub fn word_tokenize(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    WordTokenizer::default().tokenize(text, |token| tokens.push(token.to_owned()));
    tokens
}

/// The tokenizer with its buffers, to be kept for the next text.
#[derive(Default)]
pub(crate) struct WordTokenizer {
    text: String,
    spare: String,
}

impl WordTokenizer {
    /// Hands each token of a text to `sink`, in order.
    pub(crate) fn tokenize(&mut self, text: &str, mut sink: impl FnMut(&str)) {
        for sentence in punkt::sentences(text) {
            self.text.clear();
            debug_assert!(text.get(sentence.clone()).is_some(), "a sentence is a part of the text");
            self.text.push_str(text.get(sentence).unwrap_or_default());
            self.space_out();
            pystr::split(&self.text, &mut sink);
        }
    }

    /// Rewrites the sentence in `text` with white space between its tokens.
    fn space_out(&mut self) {
        let seen = steps::classes_in(&self.text);
        self.space_out_opening_quotes(seen);
        self.space_out_punctuation(seen);
        self.apply(steps::closing_quotes_and_blanks);
        self.apply_if(seen & steps::QUOTE, steps::short_suffixes);
        self.apply_if(seen & steps::QUOTE, steps::long_suffixes);
        self.apply(contractions::two_words);
        self.apply_if(seen & steps::QUOTE, contractions::it_is);
        self.apply_if(seen & steps::QUOTE, contractions::it_was);
    }

    fn space_out_opening_quotes(&mut self, seen: u8) {
        self.apply_if(seen & steps::OPENER, steps::opening_quotes);
        if self.text.starts_with('"') {
            self.text.replace_range(..1, "``");
        }
        if self.text.contains('`') {
            self.apply(steps::double_backticks);
        }
        self.apply_if(seen & steps::QUOTE, steps::opening_straight_quotes);
        self.apply_if(seen & steps::QUOTE, steps::opening_apostrophes);
    }

    fn space_out_punctuation(&mut self, seen: u8) {
        steps::final_period_apart_from_quotes(&mut self.text);
        self.apply_if(seen & steps::COMMA, steps::commas_and_colons);
        self.apply_if(seen & steps::SYMBOL, steps::ellipses_and_symbols);
        steps::final_period(&mut self.text);
        self.apply_if(seen & steps::EXCLAMATION, steps::exclamations);
        self.apply_if(seen & steps::QUOTE, steps::free_apostrophes);
        self.apply_if(seen & steps::BRACKET, steps::brackets_and_dashes);
    }

    /// Applies a step if any class it looks for was seen.
    fn apply_if(&mut self, seen: u8, step: fn(&str, &mut String)) {
        if seen != 0 {
            self.apply(step);
        }
    }

    fn apply(&mut self, step: fn(&str, &mut String)) {
        self.spare.clear();
        step(&self.text, &mut self.spare);
        std::mem::swap(&mut self.text, &mut self.spare);
    }
}
