//! Character classes and slices as NLTK 3.10.4 sees them.
//!
//! Most of its patterns run on the `regex` module (`regex_*`), some on Python's `re` (`python_*`);
//! the two disagree on word characters, and both disagree with Rust. What is Python's own, white
//! space for instance, stands in [`crate::text::pystr`].

mod tables;

/// `\w` of `re`: `str.isalnum` or the underscore, so marks and circled letters are out.
pub(crate) fn python_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    let circled_letter = matches!(c, '\u{24B6}'..='\u{24E9}' | '\u{1F130}'..='\u{1F149}'
        | '\u{1F150}'..='\u{1F169}' | '\u{1F170}'..='\u{1F189}');
    c.is_alphanumeric() && !circled_letter && !in_ranges(c, tables::MARKS)
}

/// `str.islower` of one character in the reference's Unicode 14; Unicode changed six since.
pub(crate) fn python_lower(c: char) -> bool {
    let was_lower = c == '\u{295}';
    let became_lower = matches!(c, '\u{10FC}' | '\u{A7F2}'..='\u{A7F4}' | '\u{AB69}');
    was_lower || (c.is_lowercase() && !became_lower)
}

/// `\s` of `regex`: `White_Space` and nothing else.
pub(crate) fn regex_space(c: char) -> bool {
    c.is_whitespace()
}

/// `\w` of `regex`: alphabetic, marks, decimal digits, connector punctuation, joiners.
pub(crate) fn regex_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    let connector = matches!(
        c,
        '\u{203F}' | '\u{2040}' | '\u{2054}' | '\u{FE33}' | '\u{FE34}' | '\u{FE4D}'
            ..='\u{FE4F}' | '\u{FF3F}' | '\u{200C}' | '\u{200D}'
    );
    c.is_alphabetic() || connector || regex_decimal(c) || in_ranges(c, tables::MARKS)
}

/// `\d` of `regex`: general category Nd.
pub(crate) fn regex_decimal(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && in_ranges(c, tables::DECIMALS))
}

fn in_ranges(c: char, ranges: &[(u32, u32)]) -> bool {
    let code = u32::from(c);
    let begun = ranges.partition_point(|&(first, _)| first <= code);
    begun.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|&(_, last)| code <= last)
}

/// The character that starts at a byte position, if there is one.
pub(crate) fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// The character that ends at a byte position, if there is one.
pub(crate) fn char_before(text: &str, at: usize) -> Option<char> {
    text.get(..at)?.chars().next_back()
}

/// A byte range of a text; empty where it ends beyond the text or inside a character, as what is
/// looked for is then not there.
pub(crate) fn slice(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}
