//! Finding a member: by its whole name, else by the one name that ends in what was asked.

use std::borrow::Cow;
use std::hash::BuildHasher;

use super::{Directory, Fault, name, nearest};
use crate::Result;

/// How many names an error about an ambiguous one lists.
const SHOWN_CANDIDATES: usize = 5;

/// A hash and the member it belongs to: 8 bytes where a map of owned names would take 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    hash: u32,
    member: u32,
}

/// Slots of all members, sorted by hash, then by member.
pub(super) fn slots(count: usize, hash_of: impl Fn(usize) -> u32) -> Vec<Slot> {
    let members = 0..u32::try_from(count).unwrap_or(u32::MAX);
    let mut slots: Vec<Slot> =
        members.map(|member| Slot { hash: hash_of(member as usize), member }).collect();
    slots.sort_unstable();
    slots
}

fn with_hash(slots: &[Slot], hash: u32) -> impl Iterator<Item = usize> {
    let first = slots.partition_point(|slot| slot.hash < hash);
    let rest = slots.get(first..).unwrap_or_default().iter();
    rest.take_while(move |slot| slot.hash == hash).map(|slot| slot.member as usize)
}

/// Members whose name a later one has too, sorted: of equal names the last wins, as in `CPython`.
pub(super) fn hidden_duplicates<'a>(
    slots: &[Slot],
    name_of: impl Fn(usize) -> Cow<'a, str>,
) -> Vec<u32> {
    let mut hidden = Vec::new();
    for same_hash in slots.chunk_by(|left, right| left.hash == right.hash) {
        // Different names that share a keyed hash are rare, so this list holds one name.
        let mut kept: Vec<Cow<'_, str>> = Vec::new();
        for slot in same_hash.iter().rev().filter(|_| same_hash.len() > 1) {
            let name = name_of(slot.member as usize);
            if kept.contains(&name) {
                hidden.push(slot.member);
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
        let exact = with_hash(self.by_name(), self.hash_of(wanted))
            .find(|&index| self.name_of(index) == wanted);
        if exact.is_some() {
            return Ok(exact);
        }
        self.get_by_suffix(wanted)
    }

    fn get_by_suffix(&self, wanted: &str) -> Result<Option<usize>> {
        let suffix = name::normal(wanted);
        let last_part = name::last_part(&suffix);
        if last_part.is_empty() {
            return Ok(None);
        }
        let all: Vec<usize> = with_hash(self.by_last_part(), self.hash_of(last_part))
            .filter(|&index| ends_in(&name::normal(&self.name_of(index)), &suffix))
            .collect();
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

    pub(super) fn hash_of(&self, text: &str) -> u32 {
        // The upper half is as good as the lower one.
        (self.hasher.hash_one(text) >> 32) as u32
    }
}

/// Whether `name` is `suffix` or ends in it after a separator.
fn ends_in(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}
