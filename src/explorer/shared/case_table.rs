//! Values of cases, found by position in constant time: a set may have a million cases, and lists read the values of all.

use crate::explorer::shared::case_ref::CaseRef;

/// A value for some cases. Needs memory for every case up to the last one of a set that has a value.
#[derive(Clone, Debug)]
pub struct CaseTable<T> {
    /// By set, then by position in the file.
    sets: Vec<Vec<Option<T>>>,
    /// The number of values.
    count: usize,
}

impl<T> Default for CaseTable<T> {
    fn default() -> CaseTable<T> {
        CaseTable {
            sets: Vec::new(),
            count: 0,
        }
    }
}

impl<T> CaseTable<T> {
    /// Whether no case has a value.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The value of a case.
    pub fn get(&self, case: CaseRef) -> Option<&T> {
        self.sets.get(case.set)?.get(case.index)?.as_ref()
    }

    /// Sets the value of a case.
    pub fn insert(&mut self, case: CaseRef, value: T) {
        let entry = entry(&mut self.sets, case);
        self.count += usize::from(entry.is_none());
        *entry = Some(value);
    }

    /// Removes the value of a case, and returns it.
    pub fn remove(&mut self, case: CaseRef) -> Option<T> {
        let value = self.sets.get_mut(case.set)?.get_mut(case.index)?.take()?;
        self.count -= 1;
        Some(value)
    }

    /// All cases with a value, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (CaseRef, &T)> {
        self.sets.iter().enumerate().flat_map(|(set, values)| {
            let values = values.iter().enumerate();
            values.filter_map(move |(index, value)| Some((CaseRef { set, index }, value.as_ref()?)))
        })
    }

    /// All values, in the order of their cases.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.sets.iter().flatten().flatten()
    }

    /// All cases with a value, in their order.
    pub fn into_cases(self) -> impl Iterator<Item = (CaseRef, T)> {
        self.sets.into_iter().enumerate().flat_map(|(set, values)| {
            let values = values.into_iter().enumerate();
            values.filter_map(move |(index, value)| Some((CaseRef { set, index }, value?)))
        })
    }

    /// All cases with a value that can be changed, in their order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (CaseRef, &mut T)> {
        self.sets.iter_mut().enumerate().flat_map(|(set, values)| {
            let values = values.iter_mut().enumerate();
            values.filter_map(move |(index, value)| Some((CaseRef { set, index }, value.as_mut()?)))
        })
    }
}

/// The slot for the value of a case.
fn entry<T>(sets: &mut Vec<Vec<Option<T>>>, case: CaseRef) -> &mut Option<T> {
    if sets.len() <= case.set {
        sets.resize_with(case.set + 1, Vec::new);
    }
    let set = &mut sets[case.set];
    if set.len() <= case.index {
        set.resize_with(case.index + 1, || None);
    }
    &mut set[case.index]
}

/// Two tables are equal if the same cases have equal values.
impl<T: PartialEq> PartialEq for CaseTable<T> {
    fn eq(&self, other: &CaseTable<T>) -> bool {
        self.count == other.count && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn table(values: impl IntoIterator<Item = (CaseRef, u8)>) -> CaseTable<u8> {
        let mut table = CaseTable::default();
        for (case, value) in values {
            table.insert(case, value);
        }
        table
    }

    proptest! {
        #[test]
        fn table_is_like_a_map(values in prop::collection::vec((0..4usize, 0..20usize, any::<u8>()), 0..60)) {
            let case = |set, index| CaseRef { set, index };
            let values: Vec<(CaseRef, u8)> = values.into_iter().map(|(set, index, value)| (case(set, index), value)).collect();
            let map: BTreeMap<CaseRef, u8> = values.iter().copied().collect();
            let mut table = table(values.iter().copied());
            prop_assert_eq!(table.is_empty(), map.is_empty());
            prop_assert!(table.iter().eq(map.iter().map(|(case, value)| (*case, value))));
            prop_assert!(table.values().eq(map.values()));
            prop_assert!(table.clone().into_cases().eq(map.clone()));
            let reversed = self::table(map.iter().rev().map(|(case, value)| (*case, *value)));
            prop_assert!(table == reversed);
            for set in 0..5 {
                for index in 0..21 {
                    prop_assert_eq!(table.get(case(set, index)), map.get(&case(set, index)));
                    prop_assert_eq!(table.remove(case(set, index)), map.get(&case(set, index)).copied());
                }
            }
            prop_assert!(table == CaseTable::default());
        }
    }
}
