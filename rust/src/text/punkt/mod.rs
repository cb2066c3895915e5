//! Sentence boundaries as NLTK 3.10.4's `sent_tokenize` finds them with its English model.
//!
//! The method is that of Unsupervised Multilingual Sentence Boundary Detection.
//! A mark `.`, `?` or `!` before white space or punctuation is a candidate; the words on both sides
//! of it decide. Every character is looked at a bounded number of times.

mod lexicon;

use std::borrow::Cow;
use std::ops::Range;

use crate::text::charclass::{
    char_at, python_lower, regex_decimal, regex_space, regex_word, slice,
};
use crate::text::pystr;
use lexicon::{ABBREVIATION, LOWER, LOWER_FIRST, Lexicon, STARTER, UPPER, UPPER_INSIDE};

/// What a token made only of digits, separators and signs is looked up as.
const NUMBER: &str = "##number##";

/// The byte ranges of a text's sentences, in order, without the white space between them.
///
/// Leading white space belongs to the first sentence; an empty or blank text has none.
///
/// ```
/// # use _core::text::punkt::sentences;
/// let text = "Dr. Lee saw it. Nobody else did.";
/// let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
/// assert_eq!(found, ["Dr. Lee saw it.", "Nobody else did."]);
/// ```
#[must_use]
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    realign(text, &slices(text))
}

/// A mark that could end a sentence, and what follows it.
struct Candidate {
    /// Start of the word that the mark belongs to.
    word: usize,
    /// Position of the mark.
    mark: usize,
    /// End of the following punctuation or of the following token.
    end: usize,
    /// Start of the following token, if white space follows the mark.
    next_token: Option<usize>,
}

/// The text cut at its sentence breaks, before closing punctuation is put where it belongs.
fn slices(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut previous: Option<Candidate> = None;
    let mut cut = |candidate: &Candidate, start: &mut usize| {
        if contains_break(slice(text, candidate.word, candidate.end)) {
            found.push(*start..candidate.mark + 1);
            *start = candidate.next_token.unwrap_or(candidate.mark + 1);
        }
    };
    for (mark, _) in text.match_indices(['.', '?', '!']) {
        let Some((end, next_token)) = following(text, mark + 1) else { continue };
        let (searched_from, previous_word) = previous.as_ref().map_or((0, 0), |p| (p.mark, p.word));
        let before = slice(text, searched_from, mark);
        let word = match before.rfind([' ', '\t', '\n', '\r', '\x0b', '\x0c']) {
            // White space at 0 reads as none in NLTK, so the context then starts further left.
            None | Some(0) => previous_word,
            Some(space) => searched_from + space + 1,
        };
        // Of marks within one word (`acting!!!`) only the last is a candidate.
        if let Some(candidate) = previous.as_ref().filter(|candidate| candidate.mark <= word) {
            cut(candidate, &mut start);
        }
        previous = Some(Candidate { word, mark, end, next_token });
    }
    if let Some(candidate) = &previous {
        cut(candidate, &mut start);
    }
    found.push(start..text.trim_end_matches(pystr::is_space).len());
    found
}

/// End of what stands after a mark and start of the next token; none if the mark ends no word.
fn following(text: &str, at: usize) -> Option<(usize, Option<usize>)> {
    let next = char_at(text, at)?;
    if ends_word(next) {
        return Some((at + next.len_utf8(), None));
    }
    if !regex_space(next) {
        return None;
    }
    let rest = text.get(at..)?;
    let token = at + rest.find(|c| !regex_space(c))?;
    let tail = text.get(token..)?;
    Some((token + tail.find(regex_space).unwrap_or(tail.len()), Some(token)))
}

/// Moves closing quotes and brackets at the start of a sentence to the sentence before.
fn realign(text: &str, slices: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::with_capacity(slices.len());
    let mut moved = 0;
    for (index, range) in slices.iter().enumerate() {
        let start = range.start + moved;
        moved = 0;
        if let Some(next) = slices.get(index + 1)
            && let Some((end, closing)) = closing_punctuation(slice(text, next.start, next.end))
        {
            moved = end;
            found.push(start..next.start + closing);
        } else if start < range.end {
            found.push(start..range.end);
        }
    }
    found
}

/// Length of the closing punctuation a sentence starts with, with and without the white space
/// after it.
fn closing_punctuation(sentence: &str) -> Option<(usize, usize)> {
    let closing = |c| matches!(c, '"' | '\'' | ')' | ']' | '}' | '‘' | '’' | '“' | '”' | '«' | '»');
    let mut end = char_at(sentence, 0).filter(|&c| closing(c))?.len_utf8();
    loop {
        let rest = sentence.get(end..)?;
        let Some(next) = rest.chars().next() else { return Some((end, end)) };
        if regex_space(next) {
            let spaces = rest.find(|c| !regex_space(c)).unwrap_or(rest.len());
            return Some((end + spaces, end));
        }
        if rest.starts_with("--") {
            return Some((end, end));
        }
        if !closing(next) {
            return None;
        }
        end += next.len_utf8();
    }
}

/// Whether a token other than the last of a candidate's context ends a sentence.
fn contains_break(context: &str) -> bool {
    let lexicon = Lexicon::english();
    let mut previous: Option<Token> = None;
    for line in context.split('\n').filter(|line| !line.trim_matches(pystr::is_space).is_empty()) {
        let mut at = 0;
        while let Some(range) = next_token(line, at) {
            at = range.end;
            let token = Token::new(slice(line, range.start, range.end), lexicon);
            if previous.is_some_and(|previous| previous.ends_sentence(&token, lexicon)) {
                return true;
            }
            previous = Some(token);
        }
    }
    false
}

/// The next token of a line from a position on: a dash or ellipsis, a word, or one character.
fn next_token(line: &str, at: usize) -> Option<Range<usize>> {
    let rest = line.get(at..)?;
    let start = at + rest.find(|c| !regex_space(c))?;
    if let Some(end) = dots_or_dashes(line, start) {
        return Some(start..end);
    }
    let first = char_at(line, start)?;
    let mut end = start + first.len_utf8();
    let starts_word = !matches!(
        first,
        '(' | '"'
            | '`'
            | '{'
            | '['
            | ':'
            | ';'
            | '&'
            | '#'
            | '*'
            | '@'
            | ')'
            | '}'
            | ']'
            | '-'
            | ','
    );
    while starts_word && !word_ends(line, end) {
        end += char_at(line, end).map_or(1, char::len_utf8);
    }
    Some(start..end)
}

/// Whether a word that reached a position must end there.
fn word_ends(line: &str, at: usize) -> bool {
    let stops = |at| {
        let next = char_at(line, at);
        next.is_none_or(|c| regex_space(c) || ends_word(c)) || dots_or_dashes(line, at).is_some()
    };
    stops(at) || (char_at(line, at) == Some(',') && stops(at + 1))
}

/// Punctuation that cannot stand inside a word.
fn ends_word(c: char) -> bool {
    matches!(
        c,
        ')' | '"'
            | ';'
            | '}'
            | ']'
            | '*'
            | ':'
            | '@'
            | '\''
            | '('
            | '{'
            | '['
            | '?'
            | '!'
            | '‘'
            | '’'
            | '“'
            | '”'
            | '«'
            | '»'
    )
}

/// End of a run of dashes, of periods, or of at least three periods with single spaces between.
fn dots_or_dashes(line: &str, at: usize) -> Option<usize> {
    let rest = line.get(at..)?;
    let mark = rest.chars().next().filter(|c| matches!(c, '-' | '.'))?;
    if rest.get(1..)?.starts_with(mark) {
        return Some(at + rest.find(|c| c != mark).unwrap_or(rest.len()));
    }
    if mark == '-' {
        return None;
    }
    let mut periods = 1;
    let mut end = 1;
    while let Some(space) = char_at(rest, end).filter(|&c| regex_space(c))
        && char_at(rest, end + space.len_utf8()) == Some('.')
    {
        periods += 1;
        end += space.len_utf8() + 1;
    }
    (periods >= 3).then_some(at + end)
}

/// A token with what its own form says about it.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    breaks: bool,
    /// Abbreviation or ellipsis: it ends a sentence only if the next word says so.
    undecided: bool,
}

/// Whether the spelling of a word speaks for a sentence start.
#[derive(PartialEq)]
enum Start {
    Yes,
    No,
    Unknown,
}

impl<'a> Token<'a> {
    fn new(text: &'a str, lexicon: &Lexicon) -> Self {
        if matches!(text, "." | "?" | "!") {
            return Self { text, breaks: true, undecided: false };
        }
        let ellipsis = text.len() > 1 && text.bytes().all(|byte| byte == b'.');
        let word = text.strip_suffix('.').filter(|word| !word.ends_with('.') && !ellipsis);
        let abbreviated = word.is_some_and(|word| {
            let word = lower(word);
            let last_part = word.rsplit('-').next().unwrap_or_default();
            [&*word, last_part].iter().any(|part| lexicon.bits(part) & ABBREVIATION != 0)
        });
        let undecided = ellipsis || abbreviated;
        Self { text, breaks: word.is_some() && !undecided, undecided }
    }

    /// Lower-cased form under which the model knows the token.
    fn word_type(&self) -> Cow<'a, str> {
        let lowered = lower(self.text);
        if is_number(&lowered) { Cow::Borrowed(NUMBER) } else { lowered }
    }

    /// The token's type without the period that (`always`, or if it breaks) ends it.
    fn type_without_period(&self, always: bool) -> Cow<'a, str> {
        let mut word_type = self.word_type();
        if (always || self.breaks) && word_type.len() > 1 && word_type.ends_with('.') {
            match &mut word_type {
                Cow::Borrowed(word) => *word = slice(word, 0, word.len() - 1),
                Cow::Owned(word) => {
                    word.pop();
                }
            }
        }
        word_type
    }

    fn is_initial(&self) -> bool {
        let mut chars = self.text.chars();
        let letter = chars.next().is_some_and(|c| regex_word(c) && !regex_decimal(c));
        letter && chars.as_str() == "."
    }

    fn starts_upper(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }

    fn starts_lower(&self) -> bool {
        self.text.chars().next().is_some_and(python_lower)
    }

    /// The decision about this token once the next one is known (sections 4.1 to 4.3 of the paper).
    fn ends_sentence(&self, next: &Token, lexicon: &Lexicon) -> bool {
        if !self.text.ends_with('.') {
            return self.breaks;
        }
        let own_type = self.type_without_period(true);
        let next_type = next.type_without_period(false);
        if lexicon.is_collocation(&own_type, &next_type) {
            return false;
        }
        let known = lexicon.bits(&next_type);
        let initial = self.is_initial();
        if self.undecided && !initial {
            let start = next.spelling_says(known);
            let starter = next.starts_upper() && known & STARTER != 0;
            if start == Start::Yes || starter {
                return true;
            }
        }
        if initial || own_type == NUMBER {
            let start = next.spelling_says(known);
            let always_upper = initial && next.starts_upper() && known & LOWER == 0;
            if start == Start::No || (start == Start::Unknown && always_upper) {
                return false;
            }
        }
        self.breaks
    }

    fn spelling_says(&self, known: u8) -> Start {
        if matches!(self.text, ";" | ":" | "," | "." | "!" | "?") {
            return Start::No;
        }
        if self.starts_upper() && known & LOWER != 0 && known & UPPER_INSIDE == 0 {
            return Start::Yes;
        }
        if self.starts_lower() && (known & UPPER != 0 || known & LOWER_FIRST == 0) {
            return Start::No;
        }
        Start::Unknown
    }
}

fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.to_lowercase())
}

/// Sign, one separator, a digit, then digits, separators and signs.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let text = text.strip_prefix(['.', ',']).unwrap_or(text);
    let mut chars = text.chars();
    chars.next().is_some_and(regex_decimal)
        && chars.all(|c| matches!(c, ',' | '.' | '-') || regex_decimal(c))
}
