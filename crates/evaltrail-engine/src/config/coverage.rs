//! `[coverage]`: what is demanded of the coverage of tools.

use evaltrail_core::analysis::{CoverageGates, CoverageShare, WaivedTools};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The table as it is written.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawCoverage {
    /// By the name of the share.
    min: BTreeMap<String, f64>,
    require: Vec<String>,
    /// Reasons by the pattern of tools.
    waive: BTreeMap<String, String>,
}

impl RawCoverage {
    /// The demands. The error is a message.
    pub(super) fn gates(self) -> Result<CoverageGates, String> {
        let share = |(name, number): (String, f64)| {
            checked_share(&name, number).map_err(|why| format!("min.{name}: {why}"))
        };
        if let Some((tools, _)) = self.waive.iter().find(|(_, why)| why.trim().is_empty()) {
            return Err(format!("waive.{tools}: a reason is needed"));
        }
        Ok(CoverageGates {
            min: self.min.into_iter().map(share).collect::<Result<_, _>>()?,
            require: self.require,
            waived: WaivedTools(self.waive.into_iter().collect()),
        })
    }
}

/// The share with a name, and the number that it must reach. The error is a message.
pub fn checked_share(name: &str, number: f64) -> Result<(CoverageShare, f64), String> {
    let known = CoverageShare::ALL;
    let share = known.into_iter().find(|share| share.name() == name);
    let share = share.ok_or_else(|| {
        let names = known.map(CoverageShare::name).join(", ");
        format!("{name:?} is none of {names}")
    })?;
    match (0.0..=1.0).contains(&number) {
        true => Ok((share, number)),
        false => Err("a share is a number from 0 to 1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConfigFile;
    use super::*;
    use std::path::Path;

    #[test]
    fn demands_on_coverage_can_be_set() {
        let gates = |text: &str| ConfigFile::parse(text, Path::new("/w")).map(|file| file.coverage);
        assert_eq!(gates("").unwrap(), CoverageGates::default());
        let text = "[coverage]\nmin = { tools = 0.9, pairs = 0 }\nrequire = [\"pay_*\"]\n\
                    waive = { \"debug_*\" = \"by hand\" }";
        assert_eq!(
            gates(text).unwrap(),
            CoverageGates {
                min: vec![(CoverageShare::Pairs, 0.0), (CoverageShare::Tools, 0.9)],
                require: vec!["pay_*".into()],
                waived: WaivedTools(vec![("debug_*".into(), "by hand".into())]),
            }
        );
        for (text, error) in [
            (
                "min = { tool = 1 }",
                "[coverage] min.tool: \"tool\" is none of tools, called, passed, arguments, pairs",
            ),
            (
                "min = { tools = 90 }",
                "[coverage] min.tools: a share is a number from 0 to 1",
            ),
            (
                "waive = { x = \" \" }",
                "[coverage] waive.x: a reason is needed",
            ),
        ] {
            assert_eq!(gates(&format!("[coverage]\n{text}")).unwrap_err().0, error);
        }
    }
}
