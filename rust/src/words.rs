//! English words and punctuation as NLTK 3.10.4's `word_tokenize` splits them.
//!
//! The text is cut into sentences ([`crate::punkt`]); each sentence is then rewritten step by step so
//! that white space stands between tokens. The steps and their order are NLTK's
//! (`NLTKWordTokenizer`, after Robert `MacIntyre`'s Treebank script): each sees the spaces the earlier
//! ones put in, so none can be dropped or moved. A step runs only if a character it looks for occurs.

mod contractions;
mod steps;

use crate::charclass::python_split;
use crate::punkt;

/// The tokens of a text: words, numbers, punctuation.
///
/// Opening double quotes come back as two backticks, closing ones as two apostrophes.
///
/// ```
/// # use _core::words::word_tokenize;
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
            self.text.push_str(text.get(sentence).unwrap_or_default());
            self.space_out();
            python_split(&self.text, &mut sink);
        }
    }

    /// Rewrites the sentence in `text` with white space between its tokens.
    fn space_out(&mut self) {
        let seen = steps::classes_in(&self.text);
        if seen & steps::OPENER != 0 {
            self.apply(steps::opening_quotes);
        }
        if self.text.starts_with('"') {
            self.text.replace_range(..1, "``");
        }
        if self.text.contains('`') {
            self.apply(steps::double_backticks);
        }
        if seen & steps::QUOTE != 0 {
            self.apply(steps::opening_straight_quotes);
            self.apply(steps::opening_apostrophes);
        }
        steps::final_period_apart_from_quotes(&mut self.text);
        if seen & steps::COMMA != 0 {
            self.apply(steps::commas_and_colons);
        }
        if seen & steps::SYMBOL != 0 {
            self.apply(steps::ellipses_and_symbols);
            steps::final_period(&mut self.text);
        }
        if seen & steps::EXCLAMATION != 0 {
            self.apply(steps::exclamations);
        }
        if seen & steps::QUOTE != 0 {
            self.apply(steps::free_apostrophes);
        }
        if seen & steps::BRACKET != 0 {
            self.apply(steps::brackets_and_dashes);
        }
        self.apply(steps::closing_quotes_and_blanks);
        if seen & steps::QUOTE != 0 {
            self.apply(steps::short_suffixes);
            self.apply(steps::long_suffixes);
        }
        self.apply(contractions::two_words);
        if seen & steps::QUOTE != 0 {
            self.apply(contractions::it_is);
            self.apply(contractions::it_was);
        }
    }

    fn apply(&mut self, step: fn(&str, &mut String)) {
        self.spare.clear();
        step(&self.text, &mut self.spare);
        std::mem::swap(&mut self.text, &mut self.spare);
    }
}
