//! The cases of a plan in files: as a list in JSON, or in a compressed binary form, which has a quarter of the size, most of it
//! content hashes.

use super::{PlannedCase, PlannedCases, Quarantine};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// The length of a content hash in hexadecimal digits (`SetFile::content_hash`).
const HASH_DIGITS: usize = 32;
/// Fewer cases are written as a list in JSON, which is easier to read.
const MIN_COMPRESSED: usize = 1000;
/// The maximum ratio of the size of cases to their compressed size in a plan, so that a short plan cannot make its reader use
/// much memory. The ratio of cases with content hashes and short ids is less than 3.
const MAX_RATIO: usize = 8;
/// The maximum number of cases of a plan that is read in the compressed form.
pub const MAX_COMPRESSED_CASES: usize = 5_000_000;

/// A list of cases.
impl Serialize for PlannedCases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Reads a list of cases, or [`CompressedCases`].
impl<'de> Deserialize<'de> for PlannedCases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PlannedCases, D::Error> {
        deserializer.deserialize_any(CasesVisitor)
    }
}

struct CasesVisitor;

impl<'de> Visitor<'de> for CasesVisitor {
    type Value = PlannedCases;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a list of cases, or compressed cases")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PlannedCases, A::Error> {
        let mut cases = PlannedCases::default();
        while let Some(case) = list.next_element::<PlannedCase>()? {
            cases.push(case).map_err(serde::de::Error::custom)?;
        }
        cases.shrink_to_fit();
        Ok(cases)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PlannedCases, A::Error> {
        let compressed = CompressedCases::deserialize(MapAccessDeserializer::new(map))?;
        let damaged = || serde::de::Error::custom("the compressed cases are damaged");
        compressed.cases().ok_or_else(damaged)
    }
}

/// The columns of the cases.
#[derive(Default, Serialize, Deserialize)]
struct Columns {
    rows: Vec<PackedCase>,
    /// The ids of all cases, and the content hashes that are not in `hashes`, one after the other.
    texts: String,
    /// Content hashes as bytes.
    hashes: Vec<[u8; HASH_DIGITS / 2]>,
    /// The quarantines by the position of the case, as JSON, because some of their fields are left out when they are empty.
    quarantines: String,
}

#[derive(Serialize, Deserialize)]
struct PackedCase {
    set: u32,
    /// The position in the file, less that of the case before and 1: usually 0.
    skipped: i64,
    id_length: usize,
    /// The length of the content hash in `texts`; `None` if it is in `hashes`.
    content_length: Option<usize>,
}

impl PlannedCases {
    /// The binary form. Empty, which is not read, if the cases have more than 4 GB.
    pub fn to_bytes(&self) -> Vec<u8> {
        let columns = self.column_bytes();
        columns.map_or_else(Vec::new, |columns| {
            lz4_flex::compress_prepend_size(&columns)
        })
    }

    /// The binary form of [`Columns`]. `None` if it is too large for the size before compressed bytes, of 32 bits.
    fn column_bytes(&self) -> Option<Vec<u8>> {
        let mut columns = Columns::default();
        let mut quarantines: BTreeMap<usize, &Quarantine> = BTreeMap::new();
        let mut last = -1;
        for (at, case) in self.iter().enumerate() {
            let hash = hash_bytes(&case.content);
            columns.texts.push_str(&case.eval_id);
            match hash {
                Some(hash) => columns.hashes.push(hash),
                None => columns.texts.push_str(&case.content),
            }
            // A position in a file and the number of a set are at most `u32::MAX` (`PlannedCases::push`).
            let index = case.index as i64;
            columns.rows.push(PackedCase {
                set: case.set as u32,
                skipped: index - last - 1,
                id_length: case.eval_id.len(),
                content_length: hash.is_none().then_some(case.content.len()),
            });
            last = index;
            quarantines.extend(self.quarantine(at).map(|quarantine| (at, quarantine)));
        }
        columns.quarantines = serde_json::to_string(&quarantines).ok()?;
        let bytes = postcard::to_stdvec(&columns).ok()?;
        u32::try_from(bytes.len()).is_ok().then_some(bytes)
    }

    /// Reads the binary form. `None` if it is damaged.
    pub fn of_bytes(bytes: &[u8]) -> Option<PlannedCases> {
        cases_of_columns(&lz4_flex::decompress_size_prepended(bytes).ok()?)
    }
}

/// The cases of the binary form of [`Columns`]. `None` if it is damaged.
fn cases_of_columns(columns: &[u8]) -> Option<PlannedCases> {
    let (columns, rest): (Columns, _) = postcard::take_from_bytes(columns).ok()?;
    let Columns {
        rows,
        texts,
        hashes,
        quarantines,
    } = columns;
    let mut quarantines: BTreeMap<usize, Quarantine> = serde_json::from_str(&quarantines).ok()?;
    let (mut cases, mut texts, mut hashes) = (PlannedCases::default(), &texts[..], hashes.iter());
    let mut last = -1_i64;
    let mut text = |length: usize| {
        let (text, rest) = texts.split_at_checked(length)?;
        texts = rest;
        Some(text)
    };
    for (at, row) in rows.iter().enumerate() {
        last = last.checked_add(1)?.checked_add(row.skipped)?;
        let eval_id = Cow::Borrowed(text(row.id_length)?);
        let digits;
        let content = Cow::Borrowed(match row.content_length {
            Some(length) => text(length)?,
            None => {
                digits = hash_digits(hashes.next()?);
                std::str::from_utf8(&digits).ok()?
            }
        });
        let quarantine = quarantines.remove(&at).map(Cow::Owned);
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
        rest.is_empty() && texts.is_empty() && hashes.next().is_none() && quarantines.is_empty();
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

/// The digits of the content hash with these bytes.
fn hash_digits(bytes: &[u8; HASH_DIGITS / 2]) -> [u8; HASH_DIGITS] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [0; HASH_DIGITS];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    digits
}

/// The cases of a large plan in JSON. [`PlannedCases`] are read from this form as well as from a list.
#[derive(Serialize, Deserialize)]
pub struct CompressedCases<'a> {
    /// The number of cases.
    count: usize,
    /// [`PlannedCases::to_bytes`] in Base64.
    #[serde(borrow)]
    lz4: Cow<'a, str>,
}

impl CompressedCases<'_> {
    /// The compressed form of cases. `None` if there are fewer than 1,000, which are easier to read as a list, or if the
    /// compressed form could not be read again.
    pub fn new(cases: &PlannedCases) -> Option<CompressedCases<'static>> {
        let count = cases.len();
        if !(MIN_COMPRESSED..=MAX_COMPRESSED_CASES).contains(&count) {
            return None;
        }
        let packed = cases.to_bytes();
        has_plausible_size(&packed).then(|| CompressedCases {
            count,
            lz4: STANDARD.encode(&packed).into(),
        })
    }

    /// The cases. `None` if the text is damaged.
    fn cases(&self) -> Option<PlannedCases> {
        let packed = STANDARD.decode(self.lz4.as_bytes()).ok()?;
        if self.count > MAX_COMPRESSED_CASES || !has_plausible_size(&packed) {
            return None;
        }
        let columns = lz4_flex::decompress_size_prepended(&packed).ok()?;
        // The columns begin with the number of cases. It is checked before memory is reserved for them.
        let (count, _): (usize, _) = postcard::take_from_bytes(&columns).ok()?;
        (count == self.count).then(|| cases_of_columns(&columns))?
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
            prop_assert_eq!(PlannedCases::of_bytes(&cases.to_bytes()), Some(cases));
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_read() {
        let bytes = numbered(40).to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(PlannedCases::of_bytes(&bytes[..length]), None, "{length}");
        }
        // The first four bytes are the claimed size, which `CompressedCases` checks.
        for at in 4..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let read = PlannedCases::of_bytes(&changed);
            read.iter().flat_map(PlannedCases::iter).for_each(drop);
        }
    }

    fn compressed(cases: &PlannedCases) -> serde_json::Value {
        serde_json::to_value(CompressedCases::new(cases).unwrap()).unwrap()
    }

    #[test]
    fn large_plan_is_read_from_its_compressed_form() {
        assert!(CompressedCases::new(&numbered(999)).is_none());
        let cases = numbered(20_000);
        let value = compressed(&cases);
        let text = value.to_string();
        assert!(text.len() < 40 * cases.len(), "{} bytes", text.len());
        assert_eq!(serde_json::from_str::<PlannedCases>(&text).unwrap(), cases);
        assert_eq!(
            serde_json::from_value::<PlannedCases>(value).unwrap(),
            cases
        );
        let list = serde_json::to_string(&cases).unwrap();
        assert!(list.starts_with("[{\"set\":0"), "{}", &list[..40]);
        assert_eq!(serde_json::from_str::<PlannedCases>(&list).unwrap(), cases);
    }

    #[test]
    fn false_claims_of_compressed_cases_are_refused() {
        let value = compressed(&numbered(1_000));
        let refused = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut value = value.clone();
            change(&mut value);
            let error = serde_json::from_value::<PlannedCases>(value).unwrap_err();
            assert_eq!(error.to_string(), "the compressed cases are damaged");
        };
        refused(&|plan| plan["count"] = 999.into());
        refused(&|plan| plan["lz4"] = "?".into());
        // 4 GB, as the first four bytes claim.
        let claim = STANDARD.encode([255; 40]);
        refused(&|plan| plan["lz4"] = claim.as_str().into());
        // Many more cases than `count`, of which each takes no byte of the compressed form.
        let bomb = STANDARD.encode(equal(200_000).to_bytes());
        refused(&|plan| plan["lz4"] = bomb.as_str().into());
    }

    /// Cases that are compressed to almost nothing.
    fn equal(count: usize) -> PlannedCases {
        let same: Case = (0, 7, String::new(), String::new(), false);
        PlannedCases::new((0..count).map(|_| case(&same))).unwrap()
    }

    #[test]
    fn cases_of_no_size_are_not_compressed() {
        assert!(CompressedCases::new(&equal(200_000)).is_none());
    }

    #[test]
    fn text_that_belongs_to_no_case_is_damage() {
        let columns = Columns {
            texts: "é".into(),
            quarantines: "{}".into(),
            ..Columns::default()
        };
        assert_eq!(
            cases_of_columns(&postcard::to_stdvec(&columns).unwrap()),
            None
        );
    }
}
