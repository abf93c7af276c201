//! The cases of a plan, in little memory: a plan may have millions.

use super::Quarantine;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

/// One case of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedCase<'a> {
    /// Index into [`RunPlan::sets`](super::RunPlan::sets).
    pub set: usize,
    /// Position in the file when the plan was created. Across versions of the file, a case is identified by its id
    /// and content.
    pub index: usize,
    /// The case's id.
    #[serde(borrow)]
    pub eval_id: Cow<'a, str>,
    /// The case's content hash (`SetFile::content_hash`); empty in plans of format 1.
    #[serde(borrow, default)]
    pub content: Cow<'a, str>,
    /// The quarantine of the case that held when the run was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Cow<'a, Quarantine>>,
}

impl PlannedCase<'_> {
    /// The case with texts of its own.
    pub fn into_owned(self) -> PlannedCase<'static> {
        PlannedCase {
            set: self.set,
            index: self.index,
            eval_id: self.eval_id.into_owned().into(),
            content: self.content.into_owned().into(),
            quarantine: self
                .quarantine
                .map(|quarantine| Cow::Owned(quarantine.into_owned())),
        }
    }
}

/// The cases of a plan, at most 4,294,967,295.
#[derive(Clone, Default, PartialEq)]
pub struct PlannedCases {
    positions: Vec<CasePosition>,
    /// The ids and content hashes of all cases, one after the other.
    texts: String,
    /// The quarantines of the few cases that have one.
    quarantines: BTreeMap<usize, Quarantine>,
    repeated: Repeated,
}

/// The cases whose set has several cases with their id, sorted; found when they are first asked for.
#[derive(Clone, Default)]
struct Repeated(OnceLock<Box<[usize]>>);

/// It is computed from the rest, so it makes no difference.
impl PartialEq for Repeated {
    fn eq(&self, _: &Repeated) -> bool {
        true
    }
}

#[derive(Clone, Copy, PartialEq)]
struct CasePosition {
    set: u32,
    index: u32,
    /// Where the id begins in the texts. The content follows it, and ends where the id of the next case begins.
    start: usize,
    id_length: u32,
}

/// A plan cannot contain a number, because it is greater than 4,294,967,295.
#[derive(Debug, thiserror::Error)]
#[error("{0} is too large a number for a plan")]
pub struct TooLarge(usize);

impl PlannedCases {
    /// Collects cases. Errors: those of [`PlannedCases::push`].
    pub fn new<'a>(
        cases: impl IntoIterator<Item = PlannedCase<'a>>,
    ) -> Result<PlannedCases, TooLarge> {
        let mut planned = PlannedCases::default();
        cases.into_iter().try_for_each(|case| planned.push(case))?;
        Ok(planned)
    }

    /// The number of cases.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Adds a case. Errors: the set, the position in the file or the number of cases is too large.
    pub fn push(&mut self, case: PlannedCase) -> Result<(), TooLarge> {
        let small = |number: usize| u32::try_from(number).map_err(|_| TooLarge(number));
        small(self.positions.len() + 1)?;
        let position = CasePosition {
            set: small(case.set)?,
            index: small(case.index)?,
            start: self.texts.len(),
            id_length: small(case.eval_id.len())?,
        };
        self.texts.push_str(&case.eval_id);
        self.texts.push_str(&case.content);
        if let Some(quarantine) = case.quarantine {
            self.quarantines
                .insert(self.positions.len(), quarantine.into_owned());
        }
        self.positions.push(position);
        self.repeated = Repeated::default();
        Ok(())
    }

    /// Whether another case of the same set has the id of this one, so that the id does not identify it.
    pub fn is_repeated(&self, case: usize) -> bool {
        let find = || {
            let mut by_id: Vec<usize> = (0..self.len()).collect();
            let name = |case: &usize| (self.positions[*case].set, self.eval_id(*case));
            by_id.sort_by(|a, b| name(a).cmp(&name(b)));
            let same = by_id
                .chunk_by(|a, b| name(a) == name(b))
                .filter(|group| group.len() > 1);
            let mut repeated: Vec<usize> = same.flatten().copied().collect();
            repeated.sort_unstable();
            repeated.into_boxed_slice()
        };
        self.repeated
            .0
            .get_or_init(find)
            .binary_search(&case)
            .is_ok()
    }

    /// The case at a position.
    pub fn get(&self, case: usize) -> Option<PlannedCase<'_>> {
        let position = self.positions.get(case)?;
        Some(PlannedCase {
            set: position.set as usize,
            index: position.index as usize,
            eval_id: self.eval_id(case).into(),
            content: self.content_hash(case).into(),
            quarantine: self.quarantine(case).map(Cow::Borrowed),
        })
    }

    /// All cases.
    pub fn iter(&self) -> impl Iterator<Item = PlannedCase<'_>> {
        (0..self.len()).filter_map(|case| self.get(case))
    }

    /// The index of a case's set. Panics if there is no such case.
    pub fn set_of(&self, case: usize) -> usize {
        self.positions[case].set as usize
    }

    /// The position of a case in its file when the plan was created. Panics if there is no such case.
    pub fn index_in_file(&self, case: usize) -> usize {
        self.positions[case].index as usize
    }

    /// The id of a case. Panics if there is no such case.
    pub fn eval_id(&self, case: usize) -> &str {
        let position = self.positions[case];
        &self.texts[position.start..position.start + position.id_length as usize]
    }

    /// The content hash of a case. Panics if there is no such case.
    pub fn content_hash(&self, case: usize) -> &str {
        let position = self.positions[case];
        let end = self
            .positions
            .get(case + 1)
            .map_or(self.texts.len(), |next| next.start);
        &self.texts[position.start + position.id_length as usize..end]
    }

    /// The quarantine of a case.
    pub fn quarantine(&self, case: usize) -> Option<&Quarantine> {
        self.quarantines.get(&case)
    }

    /// Gives back memory that was reserved for further cases.
    pub fn shrink_to_fit(&mut self) {
        self.positions.shrink_to_fit();
        self.texts.shrink_to_fit();
    }
}

impl fmt::Debug for PlannedCases {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(index: usize, eval_id: &'static str, content: &'static str) -> PlannedCase<'static> {
        let quarantine = (index == 1).then(|| {
            let until = "2026-12-31".to_string();
            Cow::Owned(Quarantine {
                until,
                ..Quarantine::default()
            })
        });
        PlannedCase {
            set: 2,
            index,
            eval_id: eval_id.into(),
            content: content.into(),
            quarantine,
        }
    }

    #[test]
    fn cases_are_returned_as_they_were_added() {
        let added = [
            case(0, "a", "0f"),
            case(1, "", ""),
            case(7, "ü\u{0}\"", "x"),
            case(3, "a", ""),
        ];
        let cases = PlannedCases::new(added.clone()).unwrap();
        assert!(cases.iter().eq(added.clone()));
        assert_eq!((cases.len(), cases.get(4)), (4, None));
        assert_eq!(
            (
                cases.eval_id(2),
                cases.content_hash(2),
                cases.index_in_file(2),
                cases.set_of(2)
            ),
            ("ü\u{0}\"", "x", 7, 2)
        );
        assert_eq!(
            cases.quarantine(1).map(|one| one.until.as_str()),
            Some("2026-12-31")
        );
        let text = serde_json::to_string(&cases).unwrap();
        assert!(
            text.starts_with(r#"[{"set":2,"index":0,"eval_id":"a","content":"0f"},{"set":2,"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<PlannedCases>(&text).unwrap(), cases);
        let value = serde_json::to_value(&cases).unwrap();
        assert_eq!(
            serde_json::from_value::<PlannedCases>(value).unwrap(),
            cases
        );
    }

    #[test]
    fn numbers_that_are_too_large_are_refused() {
        let text = r#"[{"set": 0, "index": 4294967296, "eval_id": "a"}]"#;
        let error = serde_json::from_str::<PlannedCases>(text)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("4294967296 is too large a number for a plan"),
            "{error}"
        );
    }
}
