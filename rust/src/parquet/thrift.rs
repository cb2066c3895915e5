//! Thrift's compact protocol, as far as it is read here: page headers, and the footer's schema
//! before the `parquet` crate sees it.

use crate::fields::{take_byte, take_varint};

const STOP: u8 = 0;
pub(super) const TRUE: u8 = 1;
const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// How deep unknown fields may nest before the header is taken for garbage.
const DEPTH: u8 = 16;

/// Bytes in the compact protocol; every reading gives `None` where they end early or make no sense.
pub(super) struct Compact<'a> {
    rest: &'a [u8],
}

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    fn byte(&mut self) -> Option<u8> {
        take_byte(&mut self.rest)
    }

    fn varint(&mut self) -> Option<u64> {
        take_varint(&mut self.rest)
    }

    pub(super) fn integer(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(super) fn size(&mut self) -> Option<u32> {
        let size = self.integer()?;
        i32::try_from(size).ok()?;
        u32::try_from(size).ok()
    }

    /// The kind of the next field, whose number replaces the last one; [`STOP`] at the end.
    pub(super) fn field(&mut self, number: &mut i64) -> Option<u8> {
        let head = self.byte()?;
        if head == STOP {
            return Some(STOP);
        }
        *number = match head >> 4 {
            0 => self.integer()?,
            delta => number.checked_add(i64::from(delta))?,
        };
        Some(head & 15)
    }

    pub(super) fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        match kind {
            1 | 2 => Some(()),
            3 => self.byte().map(|_| ()),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(kind, depth + 1))
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth + 1)?;
                    self.skip_element(kinds & 15, depth + 1)
                })
            }
            STRUCT => {
                let mut field = 0;
                while let kind @ 1.. = self.field(&mut field)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// The length of a list and the kind of its elements.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            short => u64::from(short),
        };
        Some((count, head & 15))
    }

    /// Inside a collection a boolean has a byte of its own.
    fn skip_element(&mut self, kind: u8, depth: u8) -> Option<()> {
        match kind {
            1 | 2 => self.byte().map(|_| ()),
            other => self.skip(other, depth),
        }
    }

    fn skip_bytes(&mut self, count: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(count).ok()?..)?;
        Some(())
    }
}

/// The deepest nesting of the schema in a footer.
///
/// The schema is a list of nodes, each followed by its children. Whoever builds it by recursion, as
/// the `parquet` crate does, overflows its stack on a deep one.
pub(super) fn schema_depth(footer: &[u8]) -> Option<usize> {
    let mut input = Compact::new(footer);
    let (mut field, mut depth) = (0, 0);
    while let kind @ 1.. = input.field(&mut field)? {
        if field == 2 && kind == LIST {
            depth = depth.max(nodes_depth(&mut input)?);
        } else {
            input.skip(kind, 0)?;
        }
    }
    Some(depth)
}

fn nodes_depth(input: &mut Compact<'_>) -> Option<usize> {
    let (count, kind) = input.list()?;
    // For each open node, how many of its children are still to come.
    let mut open = Vec::new();
    let mut depth = 0;
    for _ in 0..count {
        if kind != STRUCT {
            return None;
        }
        let (mut field, mut children) = (0, 0);
        while let kind @ 1.. = input.field(&mut field)? {
            match field {
                5 => children = input.size()?,
                _ => input.skip(kind, 0)?,
            }
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        open.push(children);
        depth = depth.max(open.len());
    }
    Some(depth)
}
