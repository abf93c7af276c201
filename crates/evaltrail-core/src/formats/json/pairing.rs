//! Pairing of the elements of a changed list with those of the old list.

use serde_json::Value;

/// Whether an element is paired, removed or added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementMatch {
    /// The element stays, perhaps changed: old and new position.
    Paired(usize, usize),
    /// The element is removed: old position.
    Gone(usize),
    /// The element is added: new position.
    New(usize),
}

/// Cost of an element that is added or removed.
const APART: u32 = 10;
/// Above this many comparisons elements are paired by position.
const MAX_CELLS: usize = 250_000;

/// Pairs the elements of two lists at the lowest cost.
pub(super) fn pair_up(old: &[Value], new: &[Value]) -> Vec<ElementMatch> {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = (&old[prefix..], &new[prefix..]);
    let suffix = rest
        .0
        .iter()
        .rev()
        .zip(rest.1.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (o, n) = (old.len() - suffix, new.len() - suffix);
    let mut matches: Vec<ElementMatch> =
        (0..prefix).map(|at| ElementMatch::Paired(at, at)).collect();
    let between = match (o - prefix + 1).saturating_mul(n - prefix + 1) > MAX_CELLS {
        true => by_position(o - prefix, n - prefix),
        false => least_cost(&old[prefix..o], &new[prefix..n]),
    };
    matches.extend(between.into_iter().map(|element| match element {
        ElementMatch::Paired(a, b) => ElementMatch::Paired(a + prefix, b + prefix),
        ElementMatch::Gone(a) => ElementMatch::Gone(a + prefix),
        ElementMatch::New(b) => ElementMatch::New(b + prefix),
    }));
    matches.extend((0..suffix).map(|at| ElementMatch::Paired(o + at, n + at)));
    matches
}

fn by_position(old: usize, new: usize) -> Vec<ElementMatch> {
    let paired = (0..old.min(new)).map(|at| ElementMatch::Paired(at, at));
    paired
        .chain((new..old).map(ElementMatch::Gone))
        .chain((old..new).map(ElementMatch::New))
        .collect()
}

fn least_cost(old: &[Value], new: &[Value]) -> Vec<ElementMatch> {
    let (n, m) = (old.len(), new.len());
    let at = |i: usize, j: usize| i * (m + 1) + j;
    let mut cost = vec![0u32; (n + 1) * (m + 1)];
    let mut paired = vec![None; (n + 1) * (m + 1)];
    for i in (0..=n).rev() {
        for j in (0..=m).rev() {
            let both =
                (i < n && j < m).then(|| pair_cost(&old[i], &new[j]) + cost[at(i + 1, j + 1)]);
            paired[at(i, j)] = both;
            let gone = (i < n).then(|| APART + cost[at(i + 1, j)]);
            let come = (j < m).then(|| APART + cost[at(i, j + 1)]);
            cost[at(i, j)] = [both, gone, come].into_iter().flatten().min().unwrap_or(0);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut matches = Vec::with_capacity(n.max(m));
    while i < n || j < m {
        let here = cost[at(i, j)];
        if paired[at(i, j)] == Some(here) {
            matches.push(ElementMatch::Paired(i, j));
            (i, j) = (i + 1, j + 1);
        } else if i < n && here == APART + cost[at(i + 1, j)] {
            matches.push(ElementMatch::Gone(i));
            i += 1;
        } else {
            matches.push(ElementMatch::New(j));
            j += 1;
        }
    }
    matches
}

/// Cost of changing one element into another. For elements of different kinds it is higher than that of removing one
/// and adding the other.
fn pair_cost(old: &Value, new: &Value) -> u32 {
    /// Keys that identify an object.
    const NAMES: &[&str] = &["name", "tool_name", "eval_id", "rubric_id", "invocation_id"];
    if old == new {
        return 0;
    }
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let name = NAMES
                .iter()
                .find(|name| old.contains_key(**name) && new.contains_key(**name));
            match name {
                Some(name) if old[*name] == new[*name] => 5,
                // If only the name differs, it is a rename; otherwise it is another object.
                Some(name)
                    if old
                        .iter()
                        .all(|(key, value)| key == name || new.get(key) == Some(value)) =>
                {
                    9
                }
                Some(_) => 2 * APART + 1,
                None if old.keys().eq(new.keys()) => 8,
                None => 15,
            }
        }
        (Value::Array(_), Value::Array(_)) => 8,
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => {
            2 * APART + 1
        }
        _ => 12,
    }
}
