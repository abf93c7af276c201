//! People's verdicts on the verdicts of judges: one line each, appended. Of two lines about the same verdict, the later
//! one counts.

use super::evaltrail_folder::EvaltrailFolder;
use evaltrail_core::domain::HumanVerdict;
use std::io::{self, Write};
use std::path::Path;

const NAME: &str = "verdicts.jsonl";

/// Saves verdicts with the current time. They are not synced to disk, so that a key press does not wait for it.
pub fn save_verdicts(workspace: &Path, verdicts: &[HumanVerdict]) -> io::Result<()> {
    let at = jiff::Timestamp::now().to_string();
    let line = |verdict: &HumanVerdict| {
        let verdict = HumanVerdict {
            at: at.clone(),
            ..verdict.clone()
        };
        serde_json::to_string(&verdict).map(|line| line + "\n")
    };
    let lines = verdicts.iter().map(line).collect::<Result<String, _>>()?;
    let mut file = EvaltrailFolder::make(workspace)?.append(NAME)?;
    file.write_all(lines.as_bytes())
}

/// The current verdicts, in the order in which they were given. Lines that cannot be read are skipped.
pub fn read_verdicts(workspace: &Path) -> Vec<HumanVerdict> {
    let bytes = EvaltrailFolder::in_workspace(workspace)
        .and_then(|ours| ours.read(NAME))
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut kept: Vec<HumanVerdict> = Vec::new();
    for verdict in text
        .lines()
        .filter_map(|line| serde_json::from_str::<HumanVerdict>(line).ok())
    {
        kept.retain(|known| !known.is_about(&verdict));
        kept.push(verdict);
    }
    kept.retain(|verdict| verdict.verdict.is_some());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_in_their_place_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "mine").unwrap();
        std::fs::create_dir(folder.path().join(".evaltrail")).unwrap();
        std::os::unix::fs::symlink(&secret, folder.path().join(".evaltrail").join(NAME)).unwrap();
        assert!(save_verdicts(folder.path(), &[HumanVerdict::default()]).is_err());
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "mine");
        assert!(read_verdicts(folder.path()).is_empty());
    }

    #[test]
    fn later_verdict_replaces_or_removes_earlier() {
        let folder = tempfile::tempdir().unwrap();
        let of = |metric: &str, verdict| HumanVerdict {
            metric: metric.into(),
            verdict,
            ..HumanVerdict::default()
        };
        save_verdicts(folder.path(), &[of("a", Some(true)), of("b", Some(true))]).unwrap();
        save_verdicts(folder.path(), &[of("a", Some(false)), of("b", None)]).unwrap();
        let kept = read_verdicts(folder.path());
        assert_eq!(kept.len(), 1);
        assert_eq!(
            (kept[0].metric.as_str(), kept[0].verdict),
            ("a", Some(false))
        );
        assert!(!kept[0].at.is_empty());
        assert!(folder.path().join(".evaltrail/.gitignore").is_file());
    }
}
