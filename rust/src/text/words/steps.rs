//! The rewriting steps, in NLTK's order. Each reads a text and writes its rewritten form.

use crate::text::charclass::{char_at, char_before, regex_decimal, regex_space, regex_word, slice};
use crate::text::pystr;

/// Bytes that start a character of [`opening_quotes`].
pub(super) const OPENER: u8 = 1;
/// The straight quotes.
pub(super) const QUOTE: u8 = 2;
/// Comma and colon.
pub(super) const COMMA: u8 = 4;
/// Bytes that start a character of [`ellipses_and_symbols`].
pub(super) const SYMBOL: u8 = 8;
/// Question and exclamation marks.
pub(super) const EXCLAMATION: u8 = 16;
/// Characters of [`brackets_and_dashes`].
pub(super) const BRACKET: u8 = 32;
/// Bytes that start a character of [`closing_quotes_and_blanks`].
const CLOSER: u8 = 64;
/// The backtick.
const BACKTICK: u8 = 128;

/// The classes of each byte; bytes above 0x7F are the first ones of the characters in question.
const CLASSES: [u8; 256] = {
    let mut table = [0; 256];
    mark(&mut table, "`\u{AB}\u{201C}", OPENER);
    mark(&mut table, "'\"", QUOTE);
    mark(&mut table, ",:", COMMA);
    mark(&mut table, ".;@#$%&\u{2012}", SYMBOL);
    mark(&mut table, "?!", EXCLAMATION);
    mark(&mut table, "*[](){}<>-", BRACKET);
    mark(&mut table, "'\"\u{BB}\u{201D} \t\n\x0b\x0c\r\u{85}\u{1680}\u{2000}\u{3000}", CLOSER);
    mark(&mut table, "`", BACKTICK);
    table
};

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn mark(table: &mut [u8; 256], characters: &str, class: u8) {
    let bytes = characters.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let continues = bytes[at] & 0xC0 == 0x80;
        if !continues {
            table[bytes[at] as usize] |= class;
        }
        at += 1;
    }
}

fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Every class that occurs in a text.
pub(super) fn classes_in(text: &str) -> u8 {
    text.bytes().fold(0, |seen, byte| seen | class(byte))
}

/// Copies a text; at each byte of a class, `replace` may write something else and then returns how
/// many bytes that stands for. It also gets the end of what was replaced before.
pub(super) fn rewrite(
    text: &str,
    out: &mut String,
    sought: u8,
    mut replace: impl FnMut(usize, usize, &mut String) -> usize,
) {
    let (mut copied, mut replaced, mut at) = (0, 0, 0);
    let bytes = text.as_bytes();
    while let Some(offset) =
        bytes.get(at..).and_then(|rest| rest.iter().position(|&byte| class(byte) & sought != 0))
    {
        at += offset;
        out.push_str(slice(text, copied, at));
        copied = at;
        let taken = replace(at, replaced, out);
        if taken > 0 {
            copied += taken;
            replaced = copied;
        }
        at = copied.max(at + 1);
    }
    out.push_str(slice(text, copied, text.len()));
}

/// Writes a token with a space on both sides and returns its length.
pub(super) fn space(out: &mut String, token: &str) -> usize {
    out.push(' ');
    out.push_str(token);
    out.push(' ');
    token.len()
}

/// The character at a position, as text, if it passes.
fn matching(text: &str, at: usize, passes: impl Fn(char) -> bool) -> Option<&str> {
    let c = char_at(text, at).filter(|&c| passes(c))?;
    Some(slice(text, at, at + c.len_utf8()))
}

/// The run of one character from a position on.
fn run(text: &str, at: usize, of: char) -> &str {
    let rest = slice(text, at, text.len());
    slice(rest, 0, rest.find(|c| c != of).unwrap_or(rest.len()))
}

/// Spaces round `« “ ‘ „` and runs of backticks.
pub(super) fn opening_quotes(text: &str, out: &mut String) {
    rewrite(text, out, OPENER, |at, _, out| {
        let opening = matching(text, at, |c| matches!(c, '«' | '“' | '‘' | '„'));
        let token = opening.unwrap_or_else(|| run(text, at, '`'));
        if token.is_empty() { 0 } else { space(out, token) }
    });
}

/// Spaces round each pair of backticks.
pub(super) fn double_backticks(text: &str, out: &mut String) {
    rewrite(text, out, BACKTICK, |at, _, out| {
        if slice(text, at, at + 2) == "``" { space(out, "``") } else { 0 }
    });
}

/// Two backticks for a straight double quote after a blank or an opening bracket.
pub(super) fn opening_straight_quotes(text: &str, out: &mut String) {
    rewrite(text, out, QUOTE, |at, _, out| {
        let opens = char_before(text, at).is_some_and(|c| matches!(c, ' ' | '(' | '[' | '{' | '<'));
        let length = double_quote(text, at);
        if opens && length > 0 {
            space(out, "``");
        }
        if opens { length } else { 0 }
    });
}

/// Length of a straight double quote, or of the two apostrophes that stand for one.
fn double_quote(text: &str, at: usize) -> usize {
    let rest = slice(text, at, text.len());
    if rest.starts_with('"') {
        1
    } else if rest.starts_with("''") {
        2
    } else {
        0
    }
}

/// A space after an apostrophe that opens a word, unless the word is a suffix such as `'ve`.
pub(super) fn opening_apostrophes(text: &str, out: &mut String) {
    rewrite(text, out, QUOTE, |at, _, out| {
        let rest = slice(text, at, text.len());
        let Some(word) = rest.strip_prefix('\'') else { return 0 };
        let inside = char_before(text, at).is_some_and(regex_word);
        if inside || !word.starts_with(regex_word) || is_suffix(word) {
            return 0;
        }
        out.push_str("' ");
        1
    });
}

/// Whether a word after an apostrophe is `re ve ll m t s d n`, in any case.
fn is_suffix(word: &str) -> bool {
    ["re", "ve", "ll", "m", "t", "s", "d", "n"].iter().any(|suffix| {
        prefix_in_any_case(word, suffix)
            .is_some_and(|length| !char_at(word, length).is_some_and(regex_word))
    })
}

/// Length of a word's beginning that equals a lower-case ASCII pattern when case is ignored.
///
/// Right for `re`; `regex` differs in the letter i alone, which none of its patterns here has.
pub(super) fn prefix_in_any_case(word: &str, pattern: &str) -> Option<usize> {
    pystr::strip_word(word, pattern).map(|rest| word.len() - rest.len())
}

/// Splits off a final period and the quotes, brackets and blanks after it, as two tokens.
pub(super) fn final_period_apart_from_quotes(text: &mut String) {
    let closing = |c| matches!(c, '»' | '”' | '’' | ' ') || closes(c);
    if let Some(dot) = last_period(text, closing) {
        let tail = slice(text, dot + 1, text.len());
        let kept = tail.find(|c| !closing(c)).unwrap_or(tail.len());
        text.truncate(dot + 1 + kept);
        text.insert(dot + 1, ' ');
        text.insert(dot, ' ');
        text.push(' ');
    }
}

/// Splits off a final period and the ASCII quotes and brackets after it, as one token.
pub(super) fn final_period(text: &mut String) {
    if let Some(dot) = last_period(text, closes) {
        let tail = slice(text, dot + 1, text.len());
        let kept = tail.find(|c| !closes(c)).unwrap_or(tail.len());
        text.truncate(dot + 1 + kept);
        text.insert(dot, ' ');
        text.push(' ');
    }
}

fn closes(c: char) -> bool {
    matches!(c, ']' | ')' | '}' | '>' | '"' | '\'')
}

/// A period that follows another character and is followed by closing characters, then white
/// space, only. Only the last period of a text can be one.
fn last_period(text: &str, closing: impl Fn(char) -> bool) -> Option<usize> {
    let dot = text.rfind('.')?;
    char_before(text, dot).filter(|&c| c != '.')?;
    let rest = slice(text, dot + 1, text.len()).trim_start_matches(closing);
    rest.chars().all(regex_space).then_some(dot)
}

/// Spaces round a comma or colon, unless a digit follows; the character after it is passed over.
pub(super) fn commas_and_colons(text: &str, out: &mut String) {
    rewrite(text, out, COMMA, |at, _, out| {
        let Some(next) = matching(text, at + 1, |c| !regex_decimal(c)) else { return 0 };
        let taken = space(out, slice(text, at, at + 1)) + next.len();
        out.push_str(next);
        taken
    });
    if out.ends_with([',', ':'])
        && let Some(last) = out.pop()
    {
        space(out, last.encode_utf8(&mut [0; 4]));
    }
}

/// Spaces round two and more periods, `; @ # $ % &` and dashes.
pub(super) fn ellipses_and_symbols(text: &str, out: &mut String) {
    rewrite(text, out, SYMBOL, |at, _, out| {
        let periods = run(text, at, '.');
        if periods.len() > 1 {
            return space(out, periods);
        }
        let symbol = |c| matches!(c, ';' | '@' | '#' | '$' | '%' | '&' | '\u{2012}'..='\u{2015}');
        matching(text, at, symbol).map_or(0, |symbol| space(out, symbol))
    });
}

/// Spaces round question and exclamation marks.
pub(super) fn exclamations(text: &str, out: &mut String) {
    rewrite(text, out, EXCLAMATION, |at, _, out| space(out, slice(text, at, at + 1)));
}

/// A space before an apostrophe that ends a word before a space.
pub(super) fn free_apostrophes(text: &str, out: &mut String) {
    rewrite(text, out, QUOTE, |at, replaced, out| {
        let after_character =
            at > replaced && char_before(text, at).is_some_and(|before| before != '\'');
        if after_character && slice(text, at, at + 2) == "' " { space(out, "'") + 1 } else { 0 }
    });
}

/// Spaces round asterisks, brackets and pairs of hyphens.
pub(super) fn brackets_and_dashes(text: &str, out: &mut String) {
    rewrite(text, out, BRACKET, |at, _, out| {
        let rest = slice(text, at, text.len());
        if rest.starts_with("--") {
            return space(out, "--");
        }
        if rest.starts_with('-') { 0 } else { space(out, slice(text, at, at + 1)) }
    });
}

/// Spaces round `» ” ’`, two apostrophes for a straight double quote, one space for any white
/// space, one at each end.
pub(super) fn closing_quotes_and_blanks(text: &str, out: &mut String) {
    let blank = |out: &mut String| {
        if !out.ends_with(' ') {
            out.push(' ');
        }
    };
    out.push(' ');
    rewrite(text, out, CLOSER, |at, _, out| {
        if let Some(white_space) = matching(text, at, regex_space) {
            blank(out);
            return white_space.len();
        }
        let straight = double_quote(text, at);
        let closing = matching(text, at, |c| matches!(c, '»' | '”' | '’'));
        let (token, length) = match closing {
            Some(closing) => (closing, closing.len()),
            None if straight > 0 => ("''", straight),
            None => return 0,
        };
        blank(out);
        out.push_str(token);
        out.push(' ');
        length
    });
    blank(out);
}

/// Whether a token that starts at a position is glued to a word, not to an apostrophe.
fn glued(text: &str, at: usize) -> bool {
    char_before(text, at).is_some_and(|before| !matches!(before, '\'' | ' '))
}

/// A space before `'s 'm 'd '` at the end of a word.
pub(super) fn short_suffixes(text: &str, out: &mut String) {
    rewrite(text, out, QUOTE, |at, _, out| {
        let rest = slice(text, at, text.len());
        let Some(after) = rest.strip_prefix('\'').filter(|_| glued(text, at)) else { return 0 };
        let letter = usize::from(after.starts_with(['s', 'S', 'm', 'M', 'd', 'D']));
        if !slice(after, letter, after.len()).starts_with(' ') {
            return 0;
        }
        space(out, slice(rest, 0, 1 + letter)) + 1
    });
}

/// A space before `'ll 're 've n't` at the end of a word, all small or all capital.
pub(super) fn long_suffixes(text: &str, out: &mut String) {
    rewrite(text, out, QUOTE, |at, _, out| {
        let rest = slice(text, at, text.len());
        let suffix = slice(rest, 0, 4);
        if matches!(suffix, "'ll " | "'LL " | "'re " | "'RE " | "'ve " | "'VE ") && glued(text, at)
        {
            return space(out, slice(rest, 0, 3)) + 1;
        }
        let Some(start) = at.checked_sub(1) else { return 0 };
        let negation = slice(text, start, at + 3);
        if matches!(negation, "n't " | "N'T ") && glued(text, start) {
            out.pop();
            // The n is in `out` already; what stands for it and the space make up for each other.
            return space(out, negation.trim_end());
        }
        0
    });
}
