//! Python's `str`, as `CPython` 3.11 (Unicode 14) has it, whatever Unicode this compiler knows.
//!
//! Scores are defined by Python code, and its ideas of white space, digits and case differ from
//! Rust's: U+001C..U+001F are white space, `²` is a digit but no decimal, `int` reads `１_２`.
//! The tables are generated from the interpreter itself by `data/build_pystr.py`.

mod tables;

use std::borrow::Cow;

/// The most decimal digits `int(str)` reads before it raises `ValueError`.
pub const MAX_INTEGER_DIGITS: usize = 4300;

const SMALL_SIGMA: char = 'σ';
const FINAL_SIGMA: char = 'ς';
const CAPITAL_SIGMA: char = 'Σ';
const CAPITAL_I_WITH_DOT: char = 'İ';

/// Finds the run that covers `code` among sorted runs that do not interleave.
fn run_of<R>(runs: &[R], code: u32, bounds: impl Fn(&R) -> (u32, u32, u32)) -> Option<&R> {
    let begun = runs.partition_point(|run| bounds(run).0 <= code);
    let run = runs.get(begun.checked_sub(1)?)?;
    let (first, last, step) = bounds(run);
    (code <= last && (code - first).is_multiple_of(step)).then_some(run)
}

fn in_runs(runs: &[(u32, u32, u32)], char: char) -> bool {
    run_of(runs, char.into(), |run| *run).is_some()
}

fn is_caseless(char: char) -> bool {
    (tables::CASELESS.0..=tables::CASELESS.1).contains(&char.into())
}

/// `str.isspace` of one character, which is also what `\s` matches.
#[must_use]
pub fn is_space(char: char) -> bool {
    match char {
        '\t'..='\r' | '\x1c'..=' ' => true,
        '\0'..='\x7f' => false,
        _ => in_runs(tables::SPACE, char),
    }
}

/// The value of a decimal digit of any script (`str.isdecimal`, `\d`), else `None`.
#[must_use]
pub fn decimal_value(char: char) -> Option<u8> {
    if char.is_ascii() {
        return u8::try_from(char).ok().filter(u8::is_ascii_digit).map(|byte| byte - b'0');
    }
    let code = u32::from(char);
    let zeros = tables::DECIMAL_ZEROS;
    let zero = zeros.get(zeros.partition_point(|zero| *zero <= code).checked_sub(1)?)?;
    u8::try_from(code - zero).ok().filter(|value| *value < 10)
}

/// Whether `\d` matches the character.
#[must_use]
pub fn is_decimal(char: char) -> bool {
    decimal_value(char).is_some()
}

/// `str.isdigit` of one character: decimal digits and such as `²` and `①`.
#[must_use]
pub fn is_digit(char: char) -> bool {
    if char.is_ascii() { char.is_ascii_digit() } else { in_runs(tables::DIGIT, char) }
}

/// `str.isupper` of one character.
#[must_use]
pub fn is_upper(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_uppercase()
    } else {
        !is_caseless(char) && in_runs(tables::UPPERCASE, char)
    }
}

/// `str.strip()`.
#[must_use]
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str.lstrip()`.
#[must_use]
pub fn strip_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// `str.rstrip()`.
#[must_use]
pub fn strip_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// `str.split()`: hands each word between white space to `sink`.
pub(crate) fn split<'t>(text: &'t str, mut sink: impl FnMut(&'t str)) {
    let mut start = 0;
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        // All other white space starts with one of these bytes.
        let space = match byte {
            b'\t'..=b'\r' | 0x1c..=b' ' => 1,
            0xC2 | 0xE1..=0xE3 => {
                let char = text.get(at..).and_then(|rest| rest.chars().next());
                char.filter(|&char| is_space(char)).map_or(0, char::len_utf8)
            }
            _ => 0,
        };
        if space > 0 {
            if start < at {
                sink(text.get(start..at).unwrap_or_default());
            }
            start = at + space;
        }
        at += space.max(1);
    }
    if start < at {
        sink(text.get(start..at).unwrap_or_default());
    }
}

/// `str.lower()`: full mapping with the final-sigma rule.
///
/// Borrows where nothing changes.
#[must_use]
pub fn lower(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return text.to_ascii_lowercase().into();
        }
        return text.into();
    }
    let changes = |char: char| {
        matches!(char, CAPITAL_SIGMA | CAPITAL_I_WITH_DOT) || simple_lower(char) != char
    };
    let Some(start) = text.find(changes) else { return text.into() };
    let (unchanged, rest) = text.split_at(start);
    let mut lowered = String::with_capacity(text.len() + 2);
    lowered.push_str(unchanged);
    for (place, char) in rest.char_indices() {
        match char {
            CAPITAL_SIGMA => lowered.push(lower_sigma(text, start + place)),
            CAPITAL_I_WITH_DOT => lowered.push_str("i\u{307}"),
            _ => lowered.push(simple_lower(char)),
        }
    }
    lowered.into()
}

fn simple_lower(char: char) -> char {
    if char.is_ascii() {
        return char.to_ascii_lowercase();
    }
    if is_caseless(char) {
        return char;
    }
    let code = u32::from(char);
    run_of(tables::LOWER, code, |(first, last, step, _)| (*first, *last, *step))
        .and_then(|(.., delta)| char::from_u32(code.checked_add_signed(*delta)?))
        .unwrap_or(char)
}

/// A sigma is final after a cased character and not before one, looking past what the rule ignores.
fn lower_sigma(text: &str, place: usize) -> char {
    let ignored = |char: &char| in_runs(tables::CASE_IGNORABLE, *char);
    let cased = |char: Option<char>| char.is_some_and(|char| in_runs(tables::CASED, char));
    debug_assert!(text.is_char_boundary(place), "no character begins at {place} of {text:?}");
    let (before, rest) = text.split_at_checked(place).unwrap_or((text, ""));
    let after = rest.strip_prefix(CAPITAL_SIGMA).unwrap_or(rest);
    let is_final = cased(before.chars().rev().find(|char| !ignored(char)))
        && !cased(after.chars().find(|char| !ignored(char)));
    if is_final { FINAL_SIGMA } else { SMALL_SIGMA }
}

/// Whether `re.IGNORECASE` lets a lower-case ASCII `letter` of a pattern match `char`.
///
/// Besides the two ASCII cases, `ſ` is an `s`, `İ` and `ı` are an `i`, and the Kelvin sign is a `k`.
#[must_use]
pub fn matches_letter(char: char, letter: char) -> bool {
    char.eq_ignore_ascii_case(&letter)
        || matches!((letter, char), ('s', 'ſ') | ('i', 'İ' | 'ı') | ('k', '\u{212a}'))
}

/// The text after a lower-case ASCII `word`, matched as `re.IGNORECASE` does, at its start.
#[must_use]
pub fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let mut chars = text.chars();
    word.chars()
        .all(|letter| chars.next().is_some_and(|char| matches_letter(char, letter)))
        .then_some(chars.as_str())
}

/// Whether the text ends with a lower-case ASCII `word`, matched as `re.IGNORECASE` does.
#[must_use]
pub fn ends_with_word(text: &str, word: &str) -> bool {
    let mut chars = text.chars().rev();
    word.chars().rev().all(|letter| chars.next().is_some_and(|char| matches_letter(char, letter)))
}

/// An integer of any size, as its decimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integer {
    /// Below zero; never set for zero.
    pub negative: bool,
    /// ASCII digits without leading zeros, `0` for zero: what `str(abs(integer))` prints.
    pub digits: String,
}

/// Why `int(text)` raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAnInteger {
    /// The text is no integer literal.
    Malformed,
    /// This many digits are more than [`MAX_INTEGER_DIGITS`].
    TooLong(usize),
}

/// The value of a run of decimal digits, of any scripts, as ASCII without leading zeros.
///
/// # Errors
/// [`NotAnInteger::TooLong`] by the limit of `int`, which counts leading zeros, and
/// [`NotAnInteger::Malformed`] where the run is empty or holds something else.
pub fn decimal_digits(run: impl Iterator<Item = char>) -> Result<String, NotAnInteger> {
    let mut count = 0_usize;
    let mut digits = String::new();
    for char in run {
        let value = decimal_value(char).ok_or(NotAnInteger::Malformed)?;
        count += 1;
        if count <= MAX_INTEGER_DIGITS && (value > 0 || !digits.is_empty()) {
            digits.push(char::from(b'0' + value));
        }
    }
    match count {
        0 => Err(NotAnInteger::Malformed),
        1..=MAX_INTEGER_DIGITS if digits.is_empty() => Ok("0".to_owned()),
        1..=MAX_INTEGER_DIGITS => Ok(digits),
        _ => Err(NotAnInteger::TooLong(count)),
    }
}

/// `int(text)`: surrounding blanks, a sign, digits of any script, single underscores between them.
///
/// # Errors
/// Where `int` raises `ValueError`.
pub fn parse_integer(text: &str) -> Result<Integer, NotAnInteger> {
    // Unlike `str.strip`, `int` does not take the four separators for blanks.
    let bare = text.trim_matches(|char| is_space(char) && !matches!(char, '\x1c'..='\x1f'));
    let unsigned = bare.strip_prefix(['+', '-']).unwrap_or(bare);
    let lonely = |part: &str| part.is_empty();
    if unsigned.split('_').any(lonely) {
        return Err(NotAnInteger::Malformed);
    }
    let digits = decimal_digits(unsigned.chars().filter(|char| *char != '_'))?;
    Ok(Integer { negative: bare.starts_with('-') && digits != "0", digits })
}
