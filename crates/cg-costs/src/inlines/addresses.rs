//! Sets of code addresses.

use cg_collections::maps::Map;
use cg_collections::sorting::Order as _;

/// A bitmap of addresses that are mostly close together. A page of 512 addresses takes about 80 bytes, and repeated
/// addresses take none.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressSet {
    /// The pages, by address divided by 512.
    pages: Map<u64, AddressPage>,
    /// The page of the last address, with bits that are not yet in `pages`. The next address is mostly in the same page.
    last: (u64, AddressPage),
}

/// A bit for each address.
type AddressPage = [u64; 8];

const PAGE: u64 = 512;

impl AddressSet {
    #[inline(always)]
    pub(super) fn insert(&mut self, address: u64) {
        if address / PAGE != self.last.0 {
            self.turn_to(address / PAGE);
        }
        self.last.1[(address / 64 % 8) as usize] |= 1 << (address % 64);
    }

    fn turn_to(&mut self, page: u64) {
        let (last, bits) = std::mem::replace(&mut self.last, (page, AddressPage::default()));
        if bits != AddressPage::default() {
            let known = self.pages.entry(last).or_default();
            for (known, bits) in known.iter_mut().zip(bits) {
                *known |= bits;
            }
        }
    }

    /// Returns the addresses in ascending order.
    pub(super) fn into_sorted(mut self) -> Vec<u64> {
        self.turn_to(0);
        let mut pages: Vec<(u64, AddressPage)> = self.pages.into_iter().collect();
        pages.order_by_key(|(page, _)| *page);
        let words = pages.iter().flat_map(|(page, bits)| {
            let words = (0..).zip(bits);
            words.map(move |(word, bits)| (page * PAGE + word * 64, bits))
        });
        let count = words.clone().map(|(_, bits)| bits.count_ones() as usize);
        let mut addresses = Vec::with_capacity(count.sum());
        for (begin, bits) in words {
            let set = (0..64).filter(|bit| bits >> bit & 1 != 0);
            addresses.extend(set.map(|bit| begin + bit));
        }
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_returned_sorted_and_once() {
        let mut set = AddressSet::default();
        for address in [
            130,
            0,
            63,
            64,
            511,
            512,
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
            [
                0,
                63,
                64,
                128,
                130,
                511,
                512,
                1 << 40,
                u64::MAX - 63,
                u64::MAX
            ]
        );
        assert_eq!(AddressSet::default().into_sorted(), [0; 0]);
    }
}
