//! People's decisions on failures: one line each, appended. Of two lines about the same case, the later one counts.

use super::evaltrail_folder::EvaltrailFolder;
use evaltrail_core::domain::Decision;
use std::io::{self, Write};
use std::path::Path;

const NAME: &str = "decisions.jsonl";

/// Saves decisions with the current time. They are not synced to disk, so that a key press does not wait for it.
pub fn save_decisions(workspace: &Path, decisions: &[Decision]) -> io::Result<()> {
    let at = jiff::Timestamp::now().to_string();
    let line = |decision: &Decision| {
        let decision = Decision {
            at: at.clone(),
            ..decision.clone()
        };
        serde_json::to_string(&decision).map(|line| line + "\n")
    };
    let lines = decisions.iter().map(line).collect::<Result<String, _>>()?;
    let mut file = EvaltrailFolder::make(workspace)?.append(NAME)?;
    file.write_all(lines.as_bytes())
}

/// The current decisions. Lines that cannot be read are skipped.
pub fn read_decisions(workspace: &Path) -> Vec<Decision> {
    let bytes = EvaltrailFolder::in_workspace(workspace)
        .and_then(|ours| ours.read(NAME))
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut kept: std::collections::HashMap<_, Decision> = Default::default();
    for decision in text
        .lines()
        .filter_map(|line| serde_json::from_str::<Decision>(line).ok())
    {
        let key = (
            decision.file.clone(),
            decision.eval_id.clone(),
            decision.content.clone(),
        );
        kept.insert(key, decision);
    }
    kept.into_values()
        .filter(|decision| decision.kind.is_some())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::DecisionKind;

    #[test]
    fn later_decision_replaces_or_removes_earlier() {
        let folder = tempfile::tempdir().unwrap();
        let of = |eval_id: &str, kind| Decision {
            file: "lights.evalset.json".into(),
            eval_id: eval_id.into(),
            finding: "set_light is missing".into(),
            kind,
            ..Decision::default()
        };
        let (accept, comment) = (Some(DecisionKind::Accept), Some(DecisionKind::Comment));
        save_decisions(folder.path(), &[of("a", accept), of("b", accept)]).unwrap();
        EvaltrailFolder::in_workspace(folder.path())
            .unwrap()
            .append(NAME)
            .unwrap()
            .write_all(b"damaged\n")
            .unwrap();
        save_decisions(folder.path(), &[of("a", comment), of("b", None)]).unwrap();
        let kept = read_decisions(folder.path());
        assert_eq!(kept.len(), 1);
        assert_eq!((kept[0].eval_id.as_str(), kept[0].kind), ("a", comment));
        assert!(!kept[0].at.is_empty());
    }
}
