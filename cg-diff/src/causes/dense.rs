//! What is left of a component once its members call nearly all of each other: the same elimination on a table.

use super::double::Double;

/// Members with their calls of each other in a table.
pub(super) struct Dense {
    /// Calls by caller and callee.
    pub(super) calls: Vec<Vec<Double>>,
    /// Calls of each from outside of what is left.
    pub(super) entered: Vec<Double>,
    /// Cost that is known of each, an entry an event.
    pub(super) cost: Vec<Vec<Double>>,
}

impl Dense {
    /// What a call of each costs.
    pub(super) fn solve(mut self) -> Vec<Vec<Double>> {
        let members = self.entered.len();
        let mut ran = vec![Double::ZERO; members];
        for member in (0..members).rev() {
            ran[member] = self.eliminate(member);
        }
        let mut solved: Vec<Vec<Double>> = Vec::with_capacity(members);
        for (member, ran) in ran.into_iter().enumerate() {
            let mut cost = std::mem::take(&mut self.cost[member]);
            for (calls, known) in self.calls[member].iter().zip(&solved) {
                for (sum, cost) in cost.iter_mut().zip(known) {
                    *sum = sum.plus(cost.times(*calls));
                }
            }
            for cost in &mut cost {
                *cost = match ran.is_zero() {
                    true => Double::ZERO,
                    false => cost.over(ran),
                };
            }
            solved.push(cost);
        }
        solved
    }

    /// Leads the calls of a member on to those before it, and its cost to their callers. Returns how often it ran.
    fn eliminate(&mut self, member: usize) -> Double {
        let (before, rest) = self.calls.split_at_mut(member);
        let own = &rest[0][..member];
        let callers = before.iter().map(|row| row[member]);
        let ran = callers.fold(self.entered[member], Double::plus);
        if ran.is_zero() {
            return ran;
        }
        let rates: Vec<Double> = own.iter().map(|calls| calls.over(ran)).collect();
        let entered = self.entered[member];
        for (sum, rate) in self.entered.iter_mut().zip(&rates) {
            *sum = sum.plus(entered.times(*rate));
        }
        let (costs, rest) = self.cost.split_at_mut(member);
        let cost: Vec<Double> = rest[0].iter().map(|cost| cost.over(ran)).collect();
        for (caller, row) in before.iter_mut().enumerate() {
            let calls = row[member];
            if calls.is_zero() {
                continue;
            }
            // Calls of itself are no part of how often a member ran, and are not looked at.
            for (sum, rate) in row.iter_mut().zip(&rates) {
                *sum = sum.plus(calls.times(*rate));
            }
            row[caller] = Double::ZERO;
            for (sum, cost) in costs[caller].iter_mut().zip(&cost) {
                *sum = sum.plus(cost.times(calls));
            }
        }
        ran
    }
}
