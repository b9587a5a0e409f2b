//! Amounts of all events in one flat list, and their division into shares that add up.

use cg_stream::record::Count;

/// The position of an entry in [`Amounts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AmountId(u32);

/// Entries with a count for each event.
#[derive(Debug, Default)]
pub(super) struct Amounts {
    events: usize,
    all: Vec<Count>,
}

impl Amounts {
    pub(super) fn new(events: usize) -> Amounts {
        Amounts {
            events,
            all: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, amount: &[Count]) -> AmountId {
        let id = AmountId((self.all.len() / self.events.max(1)) as u32);
        self.all.extend_from_slice(amount);
        id
    }

    pub(super) fn get(&self, AmountId(id): AmountId) -> &[Count] {
        &self.all[id as usize * self.events..][..self.events]
    }

    pub(super) fn get_mut(&mut self, AmountId(id): AmountId) -> &mut [Count] {
        &mut self.all[id as usize * self.events..][..self.events]
    }

    /// Adds the entry `from` to the entry `to`.
    pub(super) fn add(&mut self, to: AmountId, from: AmountId) {
        for event in 0..self.events {
            let more = self.get(from)[event];
            self.get_mut(to)[event] += more;
        }
    }
}

/// The division of amounts among receivers by their weights. The shares of an amount are integers and add up to it.
#[derive(Clone, Debug)]
pub(super) struct CostShares {
    /// The share of each receiver and the receivers before it.
    cumulative: Vec<f64>,
}

impl CostShares {
    /// Divides by the positive ones of these weights, or equally if no weight is positive.
    pub(super) fn by_weights(weights: impl Iterator<Item = f64> + Clone) -> CostShares {
        let positive = weights.map(|weight| weight.max(0.0));
        let total: f64 = positive.clone().sum();
        let receivers = positive.clone().count();
        let mut sum = 0.0;
        let cumulative = positive.enumerate().map(|(position, weight)| {
            sum += weight;
            match total > 0.0 {
                true => sum / total,
                false => (position + 1) as f64 / receivers as f64,
            }
        });
        CostShares {
            cumulative: cumulative.collect(),
        }
    }

    /// Returns the share of a receiver, as a fraction.
    pub(super) fn fraction(&self, receiver: usize) -> f64 {
        let before = receiver.checked_sub(1);
        self.cumulative[receiver] - before.map_or(0.0, |before| self.cumulative[before])
    }

    /// Returns the share of a receiver in an amount. Rounding is cumulative, so the last receiver gets what is left.
    pub(super) fn share(&self, amount: Count, receiver: usize) -> Count {
        let until = |receiver: usize| match receiver + 1 == self.cumulative.len() {
            true => amount,
            false => scaled(amount, self.cumulative[receiver]),
        };
        until(receiver) - receiver.checked_sub(1).map_or(0, until)
    }
}

/// Returns the product, rounded to an integer. A factor of 1 changes nothing, even beyond 53 bits.
pub(super) fn scaled(amount: Count, factor: f64) -> Count {
    match factor == 1.0 {
        true => amount,
        false => (amount as f64 * factor).round() as Count,
    }
}

/// Moves a value into the range between two others, given in any order.
pub(super) fn between(value: Count, a: Count, b: Count) -> Count {
    value.clamp(a.min(b), a.max(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_amount() {
        for (weights, amount, expected) in [
            (vec![1.0, 1.0, 1.0], 10, vec![3, 4, 3]),
            (vec![1.0, 0.0, 3.0], 100, vec![25, 0, 75]),
            // A negative weight gets nothing. Without a positive weight, all get the same.
            (vec![-5.0, 1.0], 7, vec![0, 7]),
            (vec![0.0, 0.0], -8, vec![-4, -4]),
            (vec![2.0], (1 << 100) + 1, vec![(1 << 100) + 1]),
        ] {
            let shares = CostShares::by_weights(weights.iter().copied());
            let found: Vec<Count> = (0..weights.len())
                .map(|at| shares.share(amount, at))
                .collect();
            assert_eq!(found, expected, "{weights:?}");
            assert_eq!(found.iter().sum::<Count>(), amount);
        }
    }
}
