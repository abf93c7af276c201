//! The binary form of the cases of a plan, compressed: a quarter of the size of the list, most of it the content hashes.

use super::{PlannedCase, PlannedCases, Quarantine};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The length of a content hash in hexadecimal digits (`SetFile::content_hash`).
const HASH_DIGITS: usize = 32;
/// Fewer cases are written as a list in JSON, which is easier to read.
const MIN_COMPRESSED: usize = 1000;
/// The maximum ratio of the size of cases to their compressed size in a plan, so that a short plan cannot make its reader use
/// much memory. The ratio of cases with content hashes is less than 3.
const MAX_RATIO: usize = 20;

/// The columns of the cases.
#[derive(Default, Serialize, Deserialize)]
struct Columns {
    rows: Vec<PackedCase>,
    /// The ids of all cases, and the content hashes that are not in `hashes`, one after the other.
    texts: String,
    /// Content hashes as bytes.
    hashes: Vec<[u8; HASH_DIGITS / 2]>,
    quarantines: BTreeMap<usize, String>,
}

#[derive(Serialize, Deserialize)]
struct PackedCase {
    set: u32,
    /// The position in the file, less that of the case before and 1: usually 0.
    skipped: i64,
    id_length: u32,
    /// The length of the content hash in `texts`; `None` if it is in `hashes`.
    content_length: Option<u32>,
}

/// The compressed form of the cases.
pub(super) fn packed_cases(cases: &PlannedCases) -> Vec<u8> {
    let mut columns = Columns::default();
    let mut last = -1;
    for (at, case) in cases.iter().enumerate() {
        let hash = hash_bytes(&case.content);
        columns.texts.push_str(&case.eval_id);
        match hash {
            Some(hash) => columns.hashes.push(hash),
            None => columns.texts.push_str(&case.content),
        }
        // The numbers are those of `PlannedCases::push`, and fit.
        let index = case.index as i64;
        columns.rows.push(PackedCase {
            set: case.set as u32,
            skipped: index - last - 1,
            id_length: case.eval_id.len() as u32,
            content_length: hash.is_none().then_some(case.content.len() as u32),
        });
        last = index;
        if let Some(quarantine) = &case.quarantine {
            // As JSON, because some of its fields are left out when they are empty.
            let text = serde_json::to_string(quarantine).unwrap_or_default();
            columns.quarantines.insert(at, text);
        }
    }
    // Writing to memory does not fail.
    lz4_flex::compress_prepend_size(&postcard::to_stdvec(&columns).unwrap_or_default())
}

/// The cases of [`packed_cases`]. `None` if the bytes are damaged.
pub(super) fn unpacked_cases(bytes: &[u8]) -> Option<PlannedCases> {
    let columns = lz4_flex::decompress_size_prepended(bytes).ok()?;
    let (columns, rest): (Columns, _) = postcard::take_from_bytes(&columns).ok()?;
    let Columns {
        rows,
        texts,
        hashes,
        mut quarantines,
    } = columns;
    let (mut cases, mut texts, mut hashes) = (PlannedCases::default(), &texts[..], hashes.iter());
    let mut last = -1_i64;
    let mut text = |length: u32| {
        let (text, rest) = texts.split_at_checked(length as usize)?;
        texts = rest;
        Some(text)
    };
    for (at, row) in rows.iter().enumerate() {
        last = last.checked_add(1)?.checked_add(row.skipped)?;
        let eval_id = Cow::Borrowed(text(row.id_length)?);
        let content = match row.content_length {
            Some(length) => Cow::Borrowed(text(length)?),
            None => Cow::Owned(hash_text(hashes.next()?)),
        };
        let quarantine = match quarantines.remove(&at) {
            Some(text) => Some(Cow::Owned(serde_json::from_str::<Quarantine>(&text).ok()?)),
            None => None,
        };
        let (set, index) = (row.set as usize, usize::try_from(last).ok()?);
        cases
            .push(PlannedCase {
                set,
                index,
                eval_id,
                content,
                quarantine,
            })
            .ok()?;
    }
    cases.shrink_to_fit();
    let is_whole =
        rest.is_empty() && text(1).is_none() && hashes.next().is_none() && quarantines.is_empty();
    is_whole.then_some(cases)
}

/// The bytes of a content hash; `None` if the text is not one.
fn hash_bytes(text: &str) -> Option<[u8; HASH_DIGITS / 2]> {
    let digits = text.as_bytes();
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; HASH_DIGITS / 2];
    if digits.len() != HASH_DIGITS {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

/// The content hash with these bytes.
fn hash_text(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The form of the cases of a large plan in JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct CompressedCases<'a> {
    /// The number of cases.
    count: usize,
    /// [`packed_cases`] in Base64.
    #[serde(borrow)]
    lz4: Cow<'a, str>,
}

impl CompressedCases<'_> {
    /// The form of cases. `None` if there are few, which are written as a list, or if they are compressed too well to be read.
    pub(super) fn new(cases: &PlannedCases) -> Option<CompressedCases<'static>> {
        if cases.len() < MIN_COMPRESSED {
            return None;
        }
        let packed = packed_cases(cases);
        has_plausible_size(&packed).then(|| CompressedCases {
            count: cases.len(),
            lz4: STANDARD.encode(&packed).into(),
        })
    }

    /// The cases. `None` if the text is damaged.
    pub(super) fn cases(&self) -> Option<PlannedCases> {
        let packed = STANDARD.decode(self.lz4.as_bytes()).ok()?;
        if !has_plausible_size(&packed) {
            return None;
        }
        unpacked_cases(&packed).filter(|cases| cases.len() == self.count)
    }
}

/// Whether the size that compressed cases claim to have is at most [`MAX_RATIO`] times their compressed size.
fn has_plausible_size(packed: &[u8]) -> bool {
    let claimed = packed.first_chunk().map(|size| u32::from_le_bytes(*size));
    claimed.is_some_and(|claimed| claimed as usize / MAX_RATIO <= packed.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Case = (u32, u32, String, String, bool);

    fn case(of: &Case) -> PlannedCase<'_> {
        let (set, index, eval_id, content, is_quarantined) = of;
        let until = eval_id.clone();
        let quarantine = Quarantine {
            until,
            ..Quarantine::default()
        };
        PlannedCase {
            set: *set as usize,
            index: *index as usize,
            eval_id: eval_id.into(),
            content: content.into(),
            quarantine: is_quarantined.then_some(Cow::Owned(quarantine)),
        }
    }

    fn cases(of: &[Case]) -> PlannedCases {
        PlannedCases::new(of.iter().map(case)).unwrap()
    }

    fn numbered(count: u32) -> PlannedCases {
        let case = |at: u32| {
            (
                0,
                at,
                format!("case_{at}"),
                format!("{:032x}", u128::from(at).wrapping_mul(u128::MAX / 977)),
                at == 3,
            )
        };
        cases(&(0..count).map(case).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn cases_are_unpacked_as_they_were(
            of in prop::collection::vec((any::<u32>(), any::<u32>(), ".{0,9}", "([0-9a-f]{32}|[0-9A-F]{32}|.{0,5})", any::<bool>()), 0..20),
        ) {
            let cases = cases(&of);
            prop_assert_eq!(unpacked_cases(&packed_cases(&cases)), Some(cases));
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_read() {
        let bytes = packed_cases(&numbered(40));
        for length in 0..bytes.len() {
            assert_eq!(unpacked_cases(&bytes[..length]), None, "{length}");
        }
        // Not the size at the beginning: a claim of gigabytes is refused by `CompressedCases`.
        for at in 4..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let read = unpacked_cases(&changed);
            read.iter().flat_map(PlannedCases::iter).for_each(drop);
        }
    }

    #[test]
    fn large_plan_is_compressed_in_json() {
        let few = serde_json::to_string(&numbered(999)).unwrap();
        assert!(few.starts_with("[{\"set\":0"), "{}", &few[..40]);
        let cases = numbered(20_000);
        let text = serde_json::to_string(&cases).unwrap();
        assert!(text.len() < 40 * cases.len(), "{} bytes", text.len());
        assert_eq!(serde_json::from_str::<PlannedCases>(&text).unwrap(), cases);
        let value = serde_json::to_value(&cases).unwrap();
        assert_eq!(
            serde_json::from_value::<PlannedCases>(value.clone()).unwrap(),
            cases
        );
        let refused = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut value = value.clone();
            change(&mut value);
            serde_json::from_value::<PlannedCases>(value)
                .unwrap_err()
                .to_string()
        };
        let error = "the compressed cases are damaged";
        assert_eq!(refused(&|plan| plan["count"] = 19_999.into()), error);
        // 4 GB, as the first four bytes claim.
        let claim = STANDARD.encode([255; 40]);
        assert_eq!(refused(&|plan| plan["lz4"] = claim.as_str().into()), error);
        assert_eq!(refused(&|plan| plan["lz4"] = "?".into()), error);
    }

    #[test]
    fn plan_that_is_compressed_too_well_is_a_list() {
        let same = |_| (0, 7, String::new(), String::new(), false);
        let cases = cases(&(0..200_000).map(same).collect::<Vec<_>>());
        let text = serde_json::to_string(&cases).unwrap();
        assert!(text.starts_with("[{"), "{}", &text[..40]);
        assert_eq!(serde_json::from_str::<PlannedCases>(&text).unwrap(), cases);
    }
}
