//! Pairs items of two sides with the greatest sum of likenesses (an assignment problem).

use cg_collections::sorting::Order as _;
use pathfinding::kuhn_munkres::kuhn_munkres;
use pathfinding::matrix::Matrix;

/// The maximum number of items on a side for the exact algorithm, which takes cubic time. Beyond it, pairs are made
/// greedily, the most alike first.
const MOST_EXACT: usize = 200;

/// A possible pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LikelyPair {
    /// The position on the first side.
    pub(super) a: usize,
    /// The position on the second side.
    pub(super) b: usize,
    /// The likeness of the two items; positive.
    pub(super) likeness: i64,
}

/// Returns the best pairing of `a_count` items with `b_count` others; no item is in two pairs. It prefers more pairs, then
/// a higher sum of likenesses, then pairs in the same order. The pairs are sorted by `a`.
pub(super) fn assign(
    a_count: usize,
    b_count: usize,
    candidates: &[LikelyPair],
) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for mut part in independent_parts(a_count, b_count, candidates) {
        // Ties depend on the order of the sides, so the side with fewer items is always the first.
        let is_swapped = distinct(&part, |c| c.a).len() > distinct(&part, |c| c.b).len();
        if is_swapped {
            part.iter_mut().for_each(swap_sides);
        }
        let found = solve(&part);
        pairs.extend(
            found
                .into_iter()
                .map(|(a, b)| if is_swapped { (b, a) } else { (a, b) }),
        );
    }
    pairs.sort_unstable();
    pairs
}

fn swap_sides(candidate: &mut LikelyPair) {
    std::mem::swap(&mut candidate.a, &mut candidate.b);
}

/// Splits the candidates into connected components, which can be solved independently.
fn independent_parts(
    a_count: usize,
    b_count: usize,
    candidates: &[LikelyPair],
) -> Vec<Vec<LikelyPair>> {
    let mut parents: Vec<usize> = (0..a_count + b_count).collect();
    fn root(parents: &mut [usize], mut node: usize) -> usize {
        while parents[node] != node {
            parents[node] = parents[parents[node]];
            node = parents[node];
        }
        node
    }
    for candidate in candidates {
        let (a, b) = (
            root(&mut parents, candidate.a),
            root(&mut parents, a_count + candidate.b),
        );
        parents[a.max(b)] = a.min(b);
    }
    let mut parts: std::collections::BTreeMap<usize, Vec<LikelyPair>> =
        std::collections::BTreeMap::new();
    for candidate in candidates {
        parts
            .entry(root(&mut parents, candidate.a))
            .or_default()
            .push(*candidate);
    }
    parts.into_values().collect()
}

fn distinct(part: &[LikelyPair], end: impl Fn(&LikelyPair) -> usize) -> Vec<usize> {
    let mut ends: Vec<usize> = part.iter().map(end).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// Pairs the items of one component. Side `a` has no more items than side `b`.
fn solve(part: &[LikelyPair]) -> Vec<(usize, usize)> {
    if let [only] = part {
        return vec![(only.a, only.b)];
    }
    let (a_ends, b_ends) = (distinct(part, |c| c.a), distinct(part, |c| c.b));
    if b_ends.len() > MOST_EXACT {
        return likeliest_first(part);
    }
    let rank = |ends: &[usize], end: usize| ends.partition_point(|other| *other < end);
    // An impossible pair outweighs all other pairs together; the order only breaks ties.
    let most = i128::from(part.iter().map(|c| c.likeness).max().unwrap_or(0));
    let size = b_ends.len() as i128;
    let order = size * size * size + 1;
    let impossible = -(most + 1) * order * (size + 1);
    let mut weights = Matrix::new(a_ends.len(), b_ends.len(), impossible);
    for LikelyPair { a, b, likeness } in part {
        let (row, column) = (rank(&a_ends, *a), rank(&b_ends, *b));
        let apart = row.abs_diff(column) as i128;
        weights[(row, column)] = i128::from(*likeness) * order - apart * apart;
    }
    let (_, columns) = kuhn_munkres(&weights);
    let pairs = columns.into_iter().enumerate();
    pairs
        .filter(|pair| weights[*pair] != impossible)
        .map(|(row, column)| (a_ends[row], b_ends[column]))
        .collect()
}

fn likeliest_first(part: &[LikelyPair]) -> Vec<(usize, usize)> {
    let mut sorted = part.to_vec();
    sorted.order_by_key(|c| (-c.likeness, c.a.abs_diff(c.b), c.a.min(c.b), c.a));
    let (mut has_a, mut has_b) = (
        std::collections::BTreeSet::new(),
        std::collections::BTreeSet::new(),
    );
    sorted.retain(|c| {
        let is_free = !has_a.contains(&c.a) && !has_b.contains(&c.b);
        if is_free {
            has_a.insert(c.a);
            has_b.insert(c.b);
        }
        is_free
    });
    sorted.into_iter().map(|c| (c.a, c.b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(likenesses: &[&[i64]]) -> Vec<(usize, usize)> {
        let candidates: Vec<LikelyPair> = likenesses
            .iter()
            .enumerate()
            .flat_map(|(a, row)| {
                let row = row.iter().enumerate();
                row.filter(|(_, likeness)| **likeness > 0)
                    .map(move |(b, likeness)| LikelyPair {
                        a,
                        b,
                        likeness: *likeness,
                    })
            })
            .collect();
        let b_count = likenesses.first().map_or(0, |row| row.len());
        let found = assign(likenesses.len(), b_count, &candidates);
        let swapped: Vec<LikelyPair> = candidates
            .iter()
            .map(|c| LikelyPair {
                a: c.b,
                b: c.a,
                likeness: c.likeness,
            })
            .collect();
        let mut back: Vec<(usize, usize)> = assign(b_count, likenesses.len(), &swapped)
            .into_iter()
            .map(|(b, a)| (a, b))
            .collect();
        back.sort_unstable();
        assert_eq!(found, back, "swapping the sides changes the pairs");
        found
    }

    #[test]
    fn best_sum_wins_over_the_best_pair() {
        assert_eq!(pairs(&[&[10, 9], &[9, 1]]), [(0, 1), (1, 0)]);
        assert_eq!(pairs(&[&[10, 1], &[9, 1]]), [(0, 0), (1, 1)]);
    }

    #[test]
    fn more_pairs_win_over_likelier_ones() {
        assert_eq!(pairs(&[&[100, 1], &[1, 0]]), [(0, 1), (1, 0)]);
        assert_eq!(pairs(&[&[5, 0], &[7, 0]]), [(1, 0)]);
    }

    #[test]
    fn equally_likely_items_keep_their_order() {
        assert_eq!(pairs(&[&[5, 5, 5], &[5, 5, 5]]), [(0, 0), (1, 1)]);
        assert_eq!(pairs(&[&[5, 5], &[5, 5], &[5, 5]]), [(0, 0), (1, 1)]);
        assert_eq!(pairs(&[]), []);
    }

    #[test]
    fn million_candidates_are_paired_greedily() {
        let candidates: Vec<LikelyPair> = (0..1000)
            .flat_map(|a| {
                (0..1000).map(move |b| LikelyPair {
                    a,
                    b,
                    likeness: 1 + i64::from(a == b),
                })
            })
            .collect();
        let pairs = assign(1000, 1000, &candidates);
        assert!(pairs.iter().all(|(a, b)| a == b) && pairs.len() == 1000);
    }
}
