//! Solves the rest of a component on a dense table, once its members call nearly all of each other.
//!
//! The table is first eliminated with plain floats, which is fast. Refinement steps then make the result exact: each step
//! computes the residuals of the equations with all digits, and solves for them. The elimination never subtracts, so each
//! step gains nearly as many digits as a float has. If it does not, such as for a recursion of a billion calls, the whole
//! elimination is done with all digits.

use super::double::Double;

/// The maximum number of members of a table. Memory grows with the square, time with the cube.
pub(super) const LARGEST: usize = 4096;

/// Up to this number of members, all digits are used from the start.
const SMALL: usize = 48;

/// The maximum number of members for an elimination with all digits.
const LARGEST_EXACT: usize = 1024;

/// The refinement ends when the relative change of a step is at most this.
const SETTLED: f64 = 1e-27;

/// The maximum number of refinement steps.
const STEPS: usize = 12;

/// Members of a component, with a table of the calls between them.
pub(super) struct Dense {
    /// Calls by caller and callee.
    pub(super) calls: Vec<Vec<Double>>,
    /// Calls of each member from outside the table.
    pub(super) entered: Vec<Double>,
    /// The known cost of each member, by event.
    pub(super) cost: Vec<Vec<Double>>,
}

impl Dense {
    /// Returns the cost of a call of each member; `None` if it cannot be computed exactly enough.
    pub(super) fn solve(self) -> Option<Vec<Vec<Double>>> {
        let members = self.entered.len();
        if members > SMALL
            && let Some(solved) = self.refined()
        {
            return Some(solved);
        }
        (members <= LARGEST_EXACT).then(|| self.exact())
    }

    /// Solves with floats and refinement steps; `None` if a step limit is reached.
    fn refined(&self) -> Option<Vec<Vec<Double>>> {
        let members = self.entered.len();
        let mut ran = self.entered.clone();
        for (caller, row) in self.calls.iter().enumerate() {
            for (callee, calls) in row.iter().enumerate().filter(|(to, _)| *to != caller) {
                ran[callee] = ran[callee].plus(*calls);
            }
        }
        let eliminated = Eliminated::new(self);
        let events = self.cost.first().map_or(0, Vec::len);
        let mut solved = vec![Vec::with_capacity(events); members];
        for event in 0..events {
            let mut found = vec![Double::ZERO; members];
            let is_settled = (0..STEPS).any(|_| {
                let step = eliminated.solve((0..members).map(|member| {
                    let own = self.cost[member][event];
                    let calls = self.calls[member].iter().zip(&found).enumerate();
                    let with_callees = calls
                        .filter(|(callee, _)| *callee != member)
                        .fold(own, |sum, (_, (calls, cost))| sum.plus(cost.times(*calls)));
                    with_callees
                        .plus(found[member].times(ran[member]).negated())
                        .nearest()
                }));
                let mut is_settled = true;
                for (found, step) in found.iter_mut().zip(step) {
                    *found = found.plus(Double::from_float(step));
                    is_settled &= step.abs() <= found.nearest().abs() * SETTLED;
                }
                is_settled
            });
            if !is_settled {
                return None;
            }
            for (solved, found) in solved.iter_mut().zip(found) {
                solved.push(found);
            }
        }
        Some(solved)
    }

    /// Solves with all digits.
    fn exact(mut self) -> Vec<Vec<Double>> {
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

    /// Eliminates a member: passes its calls on to the previous members, and its cost to its callers. Returns the number of
    /// times that it ran.
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
            // Calls of a member to itself do not count, and are never read.
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

/// A table that was eliminated with floats.
struct Eliminated {
    /// Below the diagonal: the calls of a member when the later members are eliminated. Above the diagonal: the calls of
    /// a member by the previous members.
    calls: Vec<Vec<f64>>,
    ran: Vec<f64>,
}

impl Eliminated {
    fn new(dense: &Dense) -> Eliminated {
        let floats = |row: &Vec<Double>| row.iter().map(|calls| calls.nearest()).collect();
        let mut calls: Vec<Vec<f64>> = dense.calls.iter().map(floats).collect();
        let mut entered: Vec<f64> = floats(&dense.entered);
        let mut ran = vec![0.0; entered.len()];
        for member in (0..entered.len()).rev() {
            let (before, rest) = calls.split_at_mut(member);
            let callers = before.iter().map(|row| row[member]);
            ran[member] = entered[member] + callers.sum::<f64>();
            if ran[member] == 0.0 {
                continue;
            }
            let own = rest[0][..member].iter();
            let rates: Vec<f64> = own.map(|calls| calls / ran[member]).collect();
            let from_outside = entered[member];
            for (sum, rate) in entered.iter_mut().zip(&rates) {
                *sum += from_outside * rate;
            }
            for row in before {
                let calls = row[member];
                if calls != 0.0 {
                    for (sum, rate) in row.iter_mut().zip(&rates) {
                        *sum += calls * rate;
                    }
                }
            }
        }
        Eliminated { calls, ran }
    }

    /// Returns the cost of a call of each member, given the known cost of each member.
    fn solve(&self, known: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut known: Vec<f64> = known.collect();
        for member in (0..known.len()).rev() {
            if self.ran[member] == 0.0 {
                continue;
            }
            let cost = known[member] / self.ran[member];
            for (sum, row) in known[..member].iter_mut().zip(&self.calls) {
                *sum += row[member] * cost;
            }
        }
        for member in 0..known.len() {
            let (solved, rest) = known.split_at_mut(member);
            let calls = self.calls[member].iter().zip(&*solved);
            let callee_cost: f64 = calls.map(|(calls, cost)| calls * cost).sum();
            rest[0] = match self.ran[member] {
                0.0 => 0.0,
                ran => (rest[0] + callee_cost) / ran,
            };
        }
        known
    }
}
