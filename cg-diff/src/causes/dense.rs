//! What is left of a component once its members call nearly all of each other: the same elimination on a table.
//!
//! The table is eliminated with plain floats, which is quick, and what that gives is made exact: what the equations lack is
//! computed with all digits, and solved for again. As nothing is subtracted in the elimination, each step gains nearly as many
//! digits as a float has. Where it does not, as in a recursion a thousand million calls deep, all is done with all digits.

use super::double::Double;

/// More members of one table are not solved: memory and time go with the square and the cube.
pub(super) const LARGEST: usize = 4096;

/// As many are solved with all digits from the start.
const SMALL: usize = 48;

/// With all digits no more are solved.
const LARGEST_EXACT: usize = 1024;

/// A step that changes nothing by more than this is the last.
const SETTLED: f64 = 1e-27;

/// So many steps are tried.
const STEPS: usize = 12;

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
    /// What a call of each costs; none where that is not known well enough.
    pub(super) fn solve(self) -> Option<Vec<Vec<Double>>> {
        let members = self.entered.len();
        if members > SMALL
            && let Some(solved) = self.refined()
        {
            return Some(solved);
        }
        (members <= LARGEST_EXACT).then(|| self.exact())
    }

    /// With floats, step by step.
    fn refined(&self) -> Option<Vec<Vec<Double>>> {
        let members = self.entered.len();
        let mut ran = self.entered.clone();
        for (caller, row) in self.calls.iter().enumerate() {
            for (callee, calls) in row.iter().enumerate().filter(|(to, _)| *to != caller) {
                ran[callee] = ran[callee].plus(*calls);
            }
        }
        let eliminated = Eliminated::of(self);
        let events = self.cost.first().map_or(0, Vec::len);
        let mut solved = vec![Vec::with_capacity(events); members];
        for event in 0..events {
            let mut found = vec![Double::ZERO; members];
            let is_settled = (0..STEPS).any(|_| {
                let step = eliminated.solve((0..members).map(|member| {
                    let own = self.cost[member][event];
                    let calls = self.calls[member].iter().zip(&found).enumerate();
                    let of_callees = calls
                        .filter(|(callee, _)| *callee != member)
                        .fold(own, |sum, (_, (calls, cost))| sum.plus(cost.times(*calls)));
                    of_callees
                        .plus(found[member].times(ran[member]).negated())
                        .nearest()
                }));
                let mut is_settled = true;
                for (found, step) in found.iter_mut().zip(step) {
                    *found = found.plus(Double::float(step));
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

    /// With all digits.
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

/// A table that was eliminated with floats.
struct Eliminated {
    /// Below the diagonal what a member calls once those behind it are gone; above it how often those before called it.
    calls: Vec<Vec<f64>>,
    ran: Vec<f64>,
}

impl Eliminated {
    fn of(dense: &Dense) -> Eliminated {
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
            let of_member = rest[0][..member].iter();
            let rates: Vec<f64> = of_member.map(|calls| calls / ran[member]).collect();
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

    /// What a call of each costs where this is known of each.
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
            let of_callees: f64 = calls.map(|(calls, cost)| calls * cost).sum();
            rest[0] = match self.ran[member] {
                0.0 => 0.0,
                ran => (rest[0] + of_callees) / ran,
            };
        }
        known
    }
}
