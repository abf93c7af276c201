//! Rules for comparing tool calls: what a person wrote under `[[match]]`. Data only; `metrics` applies them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How calls of some tools are compared, and how often they may come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchRule {
    /// The tools meant, with `*` and `?`.
    #[serde(default = "every_tool")]
    pub tool: String,
    /// What holds for an argument, by its name; dots lead into objects, `*` stands for any name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
    /// What holds for arguments that are not named: nothing, or `"ignore"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<String>,
    /// Arguments that may be left out when they have this value.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub defaults: Map<String, Value>,
    /// An expected call of the tool need not come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// The tool must not be called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forbidden: bool,
    /// Fewest calls in a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// Most calls in a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

fn every_tool() -> String {
    "*".into()
}

impl Default for MatchRule {
    fn default() -> Self {
        MatchRule {
            tool: every_tool(),
            args: Map::new(),
            others: None,
            defaults: Map::new(),
            optional: false,
            forbidden: false,
            min: None,
            max: None,
        }
    }
}

impl MatchRule {
    /// A rule about one argument.
    pub fn about(tool: &str, argument: &str, how: Value) -> MatchRule {
        let args = [(argument.to_string(), how)].into_iter().collect();
        MatchRule { tool: tool.into(), args, ..MatchRule::default() }
    }

    /// The rule in a few words.
    pub fn words(&self) -> String {
        let how = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let mut said: Vec<String> =
            self.args.iter().map(|(name, value)| format!("{name} {}", how(value))).collect();
        said.extend(self.others.as_ref().map(|how| format!("others {how}")));
        said.extend((!self.defaults.is_empty()).then(|| "defaults".to_string()));
        said.extend(self.optional.then(|| "optional".to_string()));
        said.extend(self.forbidden.then(|| "forbidden".to_string()));
        said.extend(self.min.map(|min| format!("at least {min}")));
        said.extend(self.max.map(|max| format!("at most {max}")));
        format!("{}: {}", self.tool, said.join(", "))
    }
}
