//! Sets of addresses of code.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Addresses that are mostly near each other: 64 neighbours take 16 bytes, and those that come again take none.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressSet {
    /// By the address divided by 64, a bit for each remainder.
    blocks: HashMap<u64, u64, FixedState>,
    /// The block of the last address, and the bits that are still to be added to it: the next is mostly in it too.
    last: (u64, u64),
}

impl AddressSet {
    #[inline]
    pub(super) fn insert(&mut self, address: u64) {
        let (block, bit) = (address / 64, 1 << (address % 64));
        if block != self.last.0 {
            self.add_last();
            self.last = (block, 0);
        }
        self.last.1 |= bit;
    }

    fn add_last(&mut self) {
        let (block, bits) = self.last;
        if bits != 0 {
            *self.blocks.entry(block).or_default() |= bits;
        }
    }

    /// The addresses in their order.
    pub(super) fn into_sorted(mut self) -> Vec<u64> {
        self.add_last();
        let mut blocks: Vec<(u64, u64)> = self.blocks.into_iter().collect();
        blocks.sort_unstable();
        let count = blocks.iter().map(|(_, bits)| bits.count_ones() as usize);
        let mut addresses = Vec::with_capacity(count.sum());
        for (block, bits) in blocks {
            let set = (0..64).filter(|bit| bits >> bit & 1 != 0);
            addresses.extend(set.map(|bit| block * 64 + bit));
        }
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_sorted_and_once() {
        let mut set = AddressSet::default();
        for address in [
            130,
            0,
            63,
            64,
            u64::MAX,
            63,
            128,
            u64::MAX - 63,
            130,
            1 << 40,
        ] {
            set.insert(address);
        }
        assert_eq!(
            set.into_sorted(),
            [0, 63, 64, 128, 130, 1 << 40, u64::MAX - 63, u64::MAX]
        );
        assert_eq!(AddressSet::default().into_sorted(), [0; 0]);
    }
}
