//! `[compare]`: how runs are compared.

use evaltrail_core::analysis::{ChangeEvidence, ComparisonRule};
use serde::Deserialize;

/// The table as it is written.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawComparison {
    level: Option<f64>,
    evidence: Option<String>,
}

impl RawComparison {
    /// The rule: the table's values, and the defaults for all others. The error is a message.
    pub(super) fn rule(self) -> Result<ComparisonRule, String> {
        let mut rule = ComparisonRule::default();
        if let Some(level) = self.level {
            rule.level = checked_level(level)?;
        }
        if let Some(name) = self.evidence {
            rule.evidence = parse_evidence(&name)?;
        }
        Ok(rule)
    }
}

/// Parses a level of significance. The error is a message.
pub fn parse_level(text: &str) -> Result<f64, String> {
    checked_level(
        text.trim()
            .parse()
            .map_err(|_| format!("{text:?} is not a number"))?,
    )
}

fn checked_level(level: f64) -> Result<f64, String> {
    let is_level = level > 0.0 && level < 1.0;
    if is_level {
        Ok(level)
    } else {
        Err(format!("level: {level} is not between 0 and 1"))
    }
}

/// Parses the name of a kind of evidence. The error is a message.
pub fn parse_evidence(name: &str) -> Result<ChangeEvidence, String> {
    let names = ChangeEvidence::NAMES.map(|(name, _)| name).join(", ");
    ChangeEvidence::named(name).ok_or_else(|| format!("evidence: {name:?} is none of {names}"))
}

#[cfg(test)]
mod tests {
    use super::super::ConfigFile;
    use super::*;
    use std::path::Path;

    #[test]
    fn the_rule_of_comparisons_can_be_set() {
        let rule =
            |text: &str| ConfigFile::parse(text, Path::new("/w")).map(|file| file.comparison);
        assert_eq!(rule("").unwrap(), ComparisonRule::default());
        let set = rule("[compare]\nlevel = 0.01\nevidence = \"significant\"").unwrap();
        assert_eq!(
            (set.level, set.evidence),
            (0.01, ChangeEvidence::Significant)
        );
        let error = |text: &str| rule(text).unwrap_err().0;
        assert!(
            error("[compare]\nlevel = 5").contains("[compare] level: 5 is not between 0 and 1")
        );
        assert!(error("[compare]\nlevel = nan").contains("is not between 0 and 1"));
        let names = "[compare] evidence: \"none\" is none of complete, significant, any";
        assert!(error("[compare]\nevidence = \"none\"").contains(names));
    }
}
