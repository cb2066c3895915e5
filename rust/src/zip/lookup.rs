//! Finding a member: by its whole name, else by the one name that ends in what was asked.

use std::borrow::Cow;

use super::{Directory, Fault, name, nearest};
use crate::Result;
use crate::hash::Key;

/// How many names an error about an ambiguous one lists.
const SHOWN_CANDIDATES: usize = 5;

/// A member in the index of names: 20 bits of a hash of its last part, 20 bits of a hash of its
/// whole name, 24 bits of its number. Sorted, members with the same last part lie side by side, and
/// among them those with the same name. 8 bytes, where a map of owned names would take 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(u64);

const HASH_BITS: u32 = 20;
const MEMBER_BITS: u32 = 24;

/// More members than a directory of 512 MiB can hold.
pub(super) const MAX_MEMBERS: usize = 1 << MEMBER_BITS;

impl Slot {
    pub(super) fn new(key: Key, name: &str, member: usize) -> Self {
        let last_part = name::last_part(name);
        let folder = name.len() - last_part.len();
        let last_hash = key.hash(last_part.as_bytes());
        let name_hash = key.with(last_hash).hash(name.as_bytes().get(..folder).unwrap_or_default());
        let top_bits = |hash: u64| hash >> (u64::BITS - HASH_BITS);
        let hashes = top_bits(last_hash) << HASH_BITS | top_bits(name_hash);
        debug_assert!(member < MAX_MEMBERS, "a directory of 512 MiB holds fewer members");
        Self(hashes << MEMBER_BITS | member as u64)
    }

    fn member(self) -> usize {
        usize::try_from(self.0 & (MAX_MEMBERS as u64 - 1)).unwrap_or(0)
    }

    fn hashes(self) -> u64 {
        self.0 >> MEMBER_BITS
    }

    fn last_part(self) -> u64 {
        self.0 >> (HASH_BITS + MEMBER_BITS)
    }
}

/// The members whose slots give this value, which must be one they are sorted by.
fn equal_by(slots: &[Slot], part: impl Fn(Slot) -> u64, value: u64) -> impl Iterator<Item = usize> {
    let first = slots.partition_point(|&slot| part(slot) < value);
    let rest = slots.get(first..).unwrap_or_default().iter();
    rest.take_while(move |&&slot| part(slot) == value).map(|slot| slot.member())
}

/// Members whose name a later one has too, sorted: of equal names the last wins, as in `CPython`.
pub(super) fn hidden_duplicates<'a>(
    slots: &[Slot],
    name_of: impl Fn(usize) -> Cow<'a, str>,
) -> Vec<usize> {
    let mut hidden = Vec::new();
    for alike in slots.chunk_by(|left, right| left.hashes() == right.hashes()) {
        if alike.len() == 1 {
            continue;
        }
        // Different names that share both hashes are rare, so this list holds a name or two.
        let mut kept: Vec<Cow<'_, str>> = Vec::new();
        for slot in alike.iter().rev() {
            let name = name_of(slot.member());
            if kept.contains(&name) {
                hidden.push(slot.member());
            } else {
                kept.push(name);
            }
        }
    }
    hidden.sort_unstable();
    hidden
}

impl Directory {
    /// The index of the member with this name, else of the only one whose name ends in it, whole
    /// parts compared (`b.jpg` finds `a/b.jpg`, not `ab.jpg`; `\` counts as `/`).
    ///
    /// # Errors
    /// [`Error::Zip`](crate::Error::Zip): no such member (the nearest is named), several
    /// (they are listed), or a name that leads out of the archive.
    pub fn find(&self, wanted: &str) -> Result<usize> {
        self.get(wanted)?.ok_or_else(|| {
            let nearest = nearest::nearest(wanted, self.names());
            self.fault(Fault::Missing { name: wanted.to_owned(), nearest })
        })
    }

    /// As [`find`](Self::find), but `None` for no such member: cheap for thousands of misses.
    ///
    /// # Errors
    /// [`Error::Zip`](crate::Error::Zip): several members, or a name that leads out.
    pub fn get(&self, wanted: &str) -> Result<Option<usize>> {
        if name::escapes(wanted) {
            return Err(self.fault(Fault::Escapes { name: wanted.to_owned() }));
        }
        let exact =
            equal_by(&self.slots, Slot::hashes, Slot::new(self.hash_key, wanted, 0).hashes())
                .find(|&index| self.name_of(index) == wanted);
        if exact.is_some() {
            return Ok(exact);
        }
        self.get_by_suffix(wanted)
    }

    fn get_by_suffix(&self, wanted: &str) -> Result<Option<usize>> {
        let suffix = name::normal(wanted);
        let last_part = Slot::new(self.hash_key, &suffix, 0).last_part();
        let mut all: Vec<usize> = equal_by(&self.slots, Slot::last_part, last_part)
            .filter(|&index| ends_in(&name::normal(&self.name_of(index)), &suffix))
            .collect();
        all.sort_unstable();
        let (escaping, inside): (Vec<usize>, Vec<usize>) =
            all.into_iter().partition(|&index| name::escapes(&self.name_of(index)));
        match (inside.as_slice(), escaping.first()) {
            ([], None) => Ok(None),
            ([], Some(&index)) => {
                Err(self.fault(Fault::Escapes { name: self.name_of(index).into_owned() }))
            }
            ([index], _) => Ok(Some(*index)),
            (several, _) => Err(self.fault(Fault::Ambiguous {
                name: wanted.to_owned(),
                candidates: several
                    .iter()
                    .take(SHOWN_CANDIDATES)
                    .map(|&index| self.name_of(index).into_owned())
                    .collect(),
                count: several.len(),
            })),
        }
    }
}

/// Whether `name` is `suffix` or ends in it after a separator.
fn ends_in(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}
