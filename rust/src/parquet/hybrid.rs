//! The format's run-length / bit-packing hybrid: levels and dictionary indices.

use super::fault::Damage;
use crate::fields::{take_byte, take_varint};

/// Decodes `count` numbers of `width` bits.
pub(super) fn decode(bytes: &[u8], width: u8, count: usize) -> Result<Vec<u32>, Damage> {
    if width > 32 {
        return Err(Damage::new(format!("numbers of {width} bits, expected at most 32")));
    }
    let mut numbers = Vec::with_capacity(count.min(bytes.len() * 8));
    let mut input = bytes;
    while numbers.len() < count {
        let header = take_varint(&mut input).ok_or_else(|| ends_early(numbers.len(), count))?;
        let left = count - numbers.len();
        if header & 1 == 1 {
            unpack(&mut input, width, header >> 1, left, &mut numbers)?;
        } else {
            let mut number = 0;
            for shift in 0..u32::from(width).div_ceil(8) {
                let byte = take_byte(&mut input).ok_or_else(|| ends_early(numbers.len(), count))?;
                number |= u32::from(byte) << (8 * shift);
            }
            let run = usize::try_from(header >> 1).unwrap_or(usize::MAX).min(left);
            numbers.resize(numbers.len() + run, number);
        }
    }
    Ok(numbers)
}

/// Unpacks groups of eight numbers; the last group may hold more than is wanted.
fn unpack(
    input: &mut &[u8],
    width: u8,
    groups: u64,
    wanted: usize,
    numbers: &mut Vec<u32>,
) -> Result<(), Damage> {
    let width = u32::from(width);
    let mask = (1_u64 << width) - 1;
    let given = usize::try_from(groups.saturating_mul(8)).unwrap_or(usize::MAX);
    let (mut held, mut bits) = (0_u64, 0);
    let target = numbers.len() + wanted;
    for _ in 0..given.min(wanted) {
        while bits < width {
            let next = take_byte(input).ok_or_else(|| ends_early(numbers.len(), target))?;
            held |= u64::from(next) << bits;
            bits += 8;
        }
        numbers.push(u32::try_from(held & mask).unwrap_or_default());
        held >>= width;
        bits -= width;
    }
    // What is left of the run is read only where more runs follow, and then whole groups were used.
    Ok(())
}

fn ends_early(found: usize, expected: usize) -> Damage {
    Damage::new(format!("{found} levels or indices, expected {expected}"))
}
