//! One line of a journal: its signature and its attempt.

use super::run_key::{RunKey, SIGNATURE_LENGTH};
use crate::domain::Attempt;

/// The name of the journal in the folder of a run.
pub(super) const JOURNAL: &str = "journal.jsonl";

const SIGNATURE_NAME: &[u8] = b",\"signature\":\"";
const SIGNATURE_END: &[u8] = b"\"}";

/// Adds the signature as the last member of the object.
pub(super) fn sign_line(line: &mut Vec<u8>, key: &RunKey, run_id: &str) {
    let signature = key.signature(&[run_id.as_bytes(), line]);
    line.pop();
    line.extend([SIGNATURE_NAME, signature.as_bytes(), SIGNATURE_END].concat());
}

/// Returns a line without its signature; `None` if the signature is not valid for this key and run.
pub(super) fn verified(line: &[u8], key: &RunKey, run_id: &str) -> Option<Vec<u8>> {
    let without_end = line.strip_suffix(SIGNATURE_END)?;
    let (before, signature) =
        without_end.split_at_checked(without_end.len().checked_sub(SIGNATURE_LENGTH)?)?;
    let mut signed = before.strip_suffix(SIGNATURE_NAME)?.to_vec();
    signed.push(b'}');
    key.has_signed(&[run_id.as_bytes(), &signed], std::str::from_utf8(signature).ok()?).then_some(signed)
}

pub(super) fn read_attempt(line: &[u8]) -> Option<Attempt> {
    if let Ok(attempt) = serde_json::from_slice(line) {
        return Some(attempt);
    }
    // serde_json has a lower limit for the depth of nested arguments than evaltrail's reader of eval sets.
    let parsed = crate::formats::json::parse(std::str::from_utf8(line).ok()?).ok()?;
    serde_json::from_value(parsed.value).ok()
}
