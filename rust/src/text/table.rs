//! The simple records of comma- and tab-separated tables, which are nearly all.
//!
//! The quoting rule is that of Python's `csv`: a cell that begins with a double quote ends at the next
//! single one and writes a quote as two; any other quote is text, and text behind a closing quote
//! belongs to the cell. A record is simple if it is one line of UTF-8 with every quote closed; what is
//! not is left to whoever can say what is wrong with it.

use std::borrow::Cow;

/// How the records of a table are told apart.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Stands between cells.
    pub delimiter: u8,
    /// How many cells a record has.
    pub width: usize,
    /// The most bytes of a simple record.
    pub longest: usize,
}

impl Table {
    /// Takes the record at the start of `bytes`: writes its cells, unquoted, and gives its length with
    /// the line end; `None`, and no cell, where it is not simple or not wholly there.
    ///
    /// A line that holds nothing is no record. The last line of a file has to end in LF too.
    ///
    /// ```
    /// # use _core::text::table::Table;
    /// let table = Table { delimiter: b',', width: 2, longest: 99 };
    /// let mut cells = Vec::new();
    /// assert_eq!(table.record(b"a,\"b, \"\"c\"\"\"\nd", &mut cells), Some(13));
    /// assert_eq!(cells, ["a", "b, \"c\""]);
    /// assert_eq!(table.record(b"a,\"b\nc\"\n", &mut cells), None);
    /// ```
    pub fn record<'a>(&self, bytes: &'a [u8], cells: &mut Vec<Cow<'a, str>>) -> Option<usize> {
        cells.clear();
        let seen = bytes.get(..=self.longest).unwrap_or(bytes);
        let length = seen.iter().position(|&byte| byte == b'\n')?;
        let line = bytes.get(..length)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.iter().any(|&byte| byte == b'\r' || byte == 0) {
            return None;
        }
        if self.split(std::str::from_utf8(line).ok()?, cells).is_none() || cells.len() != self.width
        {
            cells.clear();
            return None;
        }
        Some(length + 1)
    }

    fn split<'a>(&self, line: &'a str, cells: &mut Vec<Cow<'a, str>>) -> Option<()> {
        let delimiter = char::from(self.delimiter);
        let mut rest = line;
        loop {
            let quoted = match rest.strip_prefix('"') {
                Some(inside) => Some(take_quoted(inside, &mut rest)?),
                None => None,
            };
            let end = rest.bytes().position(|byte| byte == self.delimiter);
            let (plain, after) = rest.split_at(end.unwrap_or(rest.len()));
            cells.push(match quoted {
                None => plain.into(),
                Some(quoted) if plain.is_empty() => quoted,
                Some(quoted) => quoted + plain,
            });
            match after.strip_prefix(delimiter) {
                Some(next) => rest = next,
                None => return Some(()),
            }
        }
    }
}

/// The text up to the closing quote; `rest` becomes what stands behind it.
fn take_quoted<'a>(inside: &'a str, rest: &mut &'a str) -> Option<Cow<'a, str>> {
    let mut from = 0;
    loop {
        let quote = from + inside.get(from..)?.find('"')?;
        let behind = inside.get(quote + 1..)?;
        if behind.starts_with('"') {
            from = quote + 2;
            continue;
        }
        *rest = behind;
        let text = inside.get(..quote)?;
        return Some(if from > 0 { text.replace("\"\"", "\"").into() } else { text.into() });
    }
}
