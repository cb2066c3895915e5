//! The directory: raw bytes plus a few numbers a member, so 150,000 members stay small.

use std::borrow::Cow;

use super::lookup::{self, Slot};
use super::opening::Place;
use super::{Fault, Member, name};
use crate::fields::{u16_le, u32_le, u64_le};
use crate::hash::Key;
use crate::{Error, Result};

const ENTRY_SIGNATURE: &[u8; 4] = b"PK\x01\x02";
const ENTRY_LENGTH: usize = 46;
const ZIP64_FIELD: u16 = 1;
const UTF8_FLAG: u16 = 1 << 11;

/// The members of an archive: files only, the last of each name, in the directory's order.
///
/// Folders and macOS's companions (`__MACOSX/`, `._name`) are not members.
#[derive(Debug)]
pub struct Directory {
    pub(super) archive: String,
    raw: Vec<u8>,
    /// Position in `raw` of each member's entry.
    members: Vec<u32>,
    /// The index of names.
    pub(super) slots: Vec<Slot>,
    /// Where members may end: every entry's local header, and the directory itself. Sorted.
    pub(super) boundaries: Vec<u64>,
    shift: u64,
    pub(super) hash_key: Key,
}

impl Directory {
    pub(super) fn parse(archive: String, raw: Vec<u8>, place: &Place) -> Result<Self> {
        let hash_key = Key::random();
        let mut members = Vec::new();
        let mut slots = Vec::new();
        // The count is only a claim; the bytes bound what is reserved.
        let most = raw.len() / ENTRY_LENGTH;
        let mut boundaries =
            Vec::with_capacity(most.min(usize::try_from(place.entries).unwrap_or(most)) + 1);
        let mut at = 0;
        let mut found = 0_u64;
        while at < raw.len() {
            found += 1;
            let entry = Entry::parse(&raw, at).map_err(|problem| {
                let at = place.start + at as u64;
                Error::zip(&archive, Fault::Entry { entry: found, at, problem })
            })?;
            boundaries.push(entry.header.saturating_add(place.shift).min(place.start));
            if name::is_file(entry.stored_name) {
                slots.push(Slot::new(hash_key, &entry.name(), members.len()));
                debug_assert!(u32::try_from(at).is_ok(), "a directory has at most 512 MiB");
                members.push(u32::try_from(at).unwrap_or(u32::MAX));
            }
            at = entry.end;
        }
        let agrees =
            found == place.entries || (place.count_wraps && found % (1 << 16) == place.entries);
        if !agrees {
            return Err(Error::zip(&archive, Fault::Count { found, expected: place.entries }));
        }
        boundaries.push(place.start);
        boundaries.sort_unstable();
        let mut directory =
            Self { archive, raw, members, slots, boundaries, shift: place.shift, hash_key };
        directory.hide_duplicates();
        Ok(directory)
    }

    fn hide_duplicates(&mut self) {
        self.slots.sort_unstable();
        let hidden = lookup::hidden_duplicates(&self.slots, |index| self.name_of(index));
        if hidden.is_empty() {
            return;
        }
        let mut numbers = 0..;
        self.members
            .retain(|_| numbers.next().is_none_or(|number| hidden.binary_search(&number).is_err()));
        let slot_of = |index| Slot::new(self.hash_key, &self.name_of(index), index);
        self.slots = (0..self.len()).map(slot_of).collect();
        self.slots.sort_unstable();
    }

    /// The archive's name, as errors show it.
    #[must_use]
    pub fn archive(&self) -> &str {
        &self.archive
    }

    /// How many members there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no member at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members' names in order.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.len()).map(|index| self.name_of(index))
    }

    /// What the directory says about a member.
    ///
    /// # Errors
    /// [`Error::Zip`] when there is no such member.
    pub fn member(&self, index: usize) -> Result<Member<'_>> {
        let entry = self
            .entry(index)
            .ok_or_else(|| self.fault(Fault::Index { index, count: self.len() }))?;
        Ok(Member {
            name: entry.name(),
            stored_name: entry.stored_name,
            flags: entry.flags,
            method: entry.method,
            checksum: entry.checksum,
            packed: entry.packed,
            size: entry.size,
            header: entry.header.saturating_add(self.shift),
        })
    }

    pub(super) fn name_of(&self, index: usize) -> Cow<'_, str> {
        self.entry(index).map_or(Cow::Borrowed(""), |entry| entry.name())
    }

    pub(super) fn fault(&self, fault: Fault) -> Error {
        Error::zip(&self.archive, fault)
    }

    fn entry(&self, index: usize) -> Option<Entry<'_>> {
        let at = *self.members.get(index)?;
        Entry::parse(&self.raw, usize::try_from(at).ok()?).ok()
    }
}

/// One entry as it stands in the raw bytes.
struct Entry<'a> {
    stored_name: &'a [u8],
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u64,
    size: u64,
    /// Before the shift.
    header: u64,
    /// Position after it.
    end: usize,
}

impl<'a> Entry<'a> {
    fn parse(raw: &'a [u8], at: usize) -> std::result::Result<Self, &'static str> {
        const CUT: &str = "is cut short";
        let fixed = raw.get(at..).and_then(|rest| rest.first_chunk::<ENTRY_LENGTH>()).ok_or(CUT)?;
        if !fixed.starts_with(ENTRY_SIGNATURE) {
            return Err("has no entry signature");
        }
        let short = |position| u16_le(fixed, position).ok_or(CUT);
        let long = |position| u32_le(fixed, position).ok_or(CUT);
        let name_start = at + ENTRY_LENGTH;
        let extra_start = name_start + usize::from(short(28)?);
        let comment_start = extra_start + usize::from(short(30)?);
        let end = comment_start + usize::from(short(32)?);
        if end > raw.len() {
            return Err(CUT);
        }
        let mut entry = Entry {
            stored_name: raw.get(name_start..extra_start).ok_or(CUT)?,
            flags: short(8)?,
            method: short(10)?,
            checksum: long(16)?,
            packed: u64::from(long(20)?),
            size: u64::from(long(24)?),
            header: u64::from(long(42)?),
            end,
        };
        entry.widen(raw.get(extra_start..comment_start).ok_or(CUT)?)?;
        Ok(entry)
    }

    /// Takes the fields that did not fit 32 bits from the zip64 extra field, which holds only
    /// those, in this order.
    fn widen(&mut self, extra: &[u8]) -> std::result::Result<(), &'static str> {
        const MARK: u64 = u32::MAX as u64;
        if [self.size, self.packed, self.header].iter().all(|&field| field != MARK) {
            return Ok(());
        }
        // Without the field the mark is the value: a size of exactly 4 GiB - 1 is possible.
        let Some(wide) = extra_field(extra, ZIP64_FIELD) else { return Ok(()) };
        let mut at = 0;
        for field in [&mut self.size, &mut self.packed, &mut self.header] {
            if *field == MARK {
                *field = u64_le(wide, at).ok_or("has a damaged zip64 field")?;
                at += 8;
            }
        }
        Ok(())
    }

    fn name(&self) -> Cow<'a, str> {
        name::decode(self.stored_name, self.flags & UTF8_FLAG != 0)
    }
}

/// The data of the first extra field with this tag; a field that runs over the end is ignored.
fn extra_field(mut extra: &[u8], tag: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_le(extra, 2)?);
        let data = extra.get(4..)?.get(..length)?;
        if u16_le(extra, 0)? == tag {
            return Some(data);
        }
        extra = extra.get(4 + length..)?;
    }
}
