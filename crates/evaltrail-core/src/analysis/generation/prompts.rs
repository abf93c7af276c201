//! The prompts with which a model is asked to write a case. All text from outside is between marks that it cannot contain.

use super::blueprint::{ArgumentSource, Blueprint, BlueprintTurn};
use super::declaration_text::declaration_json;
use super::planned::{PlannedDraft, PlannedGap};
use super::requirement::{planned_text, requirement};
use super::stated_values::written_values;
use crate::analysis::coverage::Declarations;
use crate::domain::TRANSFER_TOOL;
use crate::metrics::fill;
use serde_json::{Map, Value};

const BLUEPRINT: &str = include_str!("prompts/blueprint.md");
const WORDING: &str = include_str!("prompts/wording.md");
const REPAIR: &str = include_str!("prompts/repair.md");

/// The largest number of characters of all declarations of tools. The names of the others are listed.
const MAX_TOOLS: usize = 24_000;
/// The largest number of characters of the names of agents. The number of the others is given.
const MAX_AGENTS: usize = 4_000;
/// The largest number of characters of the description of the agent.
const MAX_ABOUT: usize = 4_000;
/// The largest number of examples.
const MAX_EXAMPLES: usize = 5;
/// The largest number of characters of an example, and of a goal.
const MAX_EXAMPLE: usize = 500;
/// The largest number of characters of a reply that is sent back.
const MAX_REPLY: usize = 8_000;

/// What a prompt contains besides the plan.
#[derive(Clone, Copy, Debug)]
pub struct PromptContext<'a> {
    /// The tools and agents.
    pub declared: &'a Declarations,
    /// The description or the instruction of the agent; may be empty.
    pub about_agent: &'a str,
    /// The language in which texts are written, such as `English`.
    pub language: &'a str,
    /// Messages of users in existing cases. At most 5 are used.
    pub examples: &'a [String],
}

/// The request for a blueprint of a planned case.
pub fn blueprint_prompt(planned: &PlannedDraft, context: &PromptContext<'_>) -> String {
    fill(
        &BLUEPRINT.replace("{{@requirement}}", requirement(&planned.gap).trim()),
        &[
            ("planned", &planned_text(&planned.gap)),
            ("tools", &tools_text(context.declared, &planned.gap)),
            (
                "agents",
                &agents_text(context.declared, planned.gap.agent()),
            ),
            ("about_agent", &or_none(context.about_agent, MAX_ABOUT)),
            ("examples", &examples_text(context.examples)),
            ("language", &or_none(context.language, MAX_EXAMPLE)),
        ],
    )
}

/// The request for the words of the user, one message for each turn of a blueprint.
pub fn wording_prompt(
    planned: &PlannedDraft,
    blueprint: &Blueprint,
    context: &PromptContext<'_>,
) -> String {
    let left_out = planned.gap.argument_left_out();
    let turns = blueprint.turns.iter().enumerate();
    let turns = turns.map(|(at, turn)| turn_json(at + 1, turn, left_out).to_string());
    fill(
        &WORDING.replace("{{@persona}}", planned.persona.description()),
        &[
            ("turns", &turns.collect::<Vec<_>>().join("\n")),
            ("about_agent", &or_none(context.about_agent, MAX_ABOUT)),
            ("examples", &examples_text(context.examples)),
            ("language", &or_none(context.language, MAX_EXAMPLE)),
        ],
    )
}

/// The second request, after a reply that cannot be used.
pub fn repair_prompt(previous_prompt: &str, reply: &str, problem: &str) -> String {
    let data = [
        ("reply", &*or_none(reply, MAX_REPLY)),
        ("problem", &*or_none(problem, MAX_EXAMPLE)),
    ];
    format!("{previous_prompt}\n\n{}", fill(REPAIR, &data))
}

/// The declarations of the tools, those of the plan first, and the names of the tools for which there is no room.
fn tools_text(declared: &Declarations, gap: &PlannedGap) -> String {
    let planned = gap.tools();
    let is_own = |name: &&str| *name == TRANSFER_TOOL || name.starts_with("adk_request_");
    let names = declared.tools.keys().map(String::as_str);
    let others = names.filter(|name| !planned.contains(name) && !is_own(name));
    let (mut lines, mut length, mut left_out) = (Vec::new(), 0, Vec::new());
    for (at, name) in planned.iter().copied().chain(others).enumerate() {
        let argument = gap.argument().filter(|_| planned.contains(&name));
        let Some(json) = declaration_json(declared, name, argument) else {
            continue;
        };
        let line = json.to_string();
        let line_length = line.chars().count();
        if at < planned.len() || length + line_length <= MAX_TOOLS {
            length += line_length;
            lines.push(line);
        } else {
            left_out.push(name);
        }
    }
    if !left_out.is_empty() {
        let names = shortened(&left_out.join(", "), MAX_ABOUT);
        lines.push(format!("Other tools, which are not to be called: {names}"));
    }
    or_none(&lines.join("\n"), usize::MAX)
}

/// The names of the agents, the planned one first, and the number of those for which there is no room.
fn agents_text(declared: &Declarations, planned: Option<&str>) -> String {
    if declared.agents.len() < 2 {
        return "none".into();
    }
    let names = declared.agents.iter().map(String::as_str);
    let others = names.filter(|name| Some(*name) != planned);
    let (mut lines, mut length, mut left_out) = (Vec::new(), 0, 0);
    for name in planned.into_iter().chain(others) {
        let with_this = length + name.chars().count() + 1;
        if Some(name) == planned || with_this <= MAX_AGENTS {
            length = with_this;
            lines.push(name.to_string());
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        lines.push(format!("(and {left_out} more)"));
    }
    lines.join("\n")
}

/// A turn for the model that writes the words of the user: its goal and the values to state, without the names of tools.
fn turn_json(number: usize, turn: &BlueprintTurn, left_out: Option<&str>) -> Value {
    let mut values = Map::new();
    for call in turn.calls.iter().filter(|call| call.name != TRANSFER_TOOL) {
        let from_user = call.args.iter().filter(|(name, _)| {
            let source = call.sources.get(*name);
            source == Some(&ArgumentSource::User)
        });
        for (name, value) in from_user {
            let is_stated = !written_values(value).is_empty() || value.is_boolean();
            if is_stated && values.get(&plain_name(name)) != Some(value) {
                values.insert(free_key(&values, &plain_name(name)), value.clone());
            }
        }
    }
    let mut members = Map::new();
    members.insert("turn".into(), number.into());
    members.insert("goal".into(), shortened(&turn.goal, MAX_EXAMPLE).into());
    if !values.is_empty() {
        members.insert("values".into(), values.into());
    }
    if let Some(name) = left_out {
        members.insert("not_mentioned".into(), plain_name(name).into());
    }
    Value::Object(members)
}

/// A key that an object does not have yet: the name, or the name with a number.
fn free_key(members: &Map<String, Value>, name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name} {number}"));
    let mut keys = std::iter::once(name.to_string()).chain(numbered);
    keys.find(|key| !members.contains_key(key))
        .unwrap_or_default()
}

/// The name of a parameter as words: `bed_name`, `bedName` and `place.bed` with spaces.
fn plain_name(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        let is_new_word = c.is_uppercase() && words.ends_with(char::is_lowercase);
        if is_new_word {
            words.push(' ');
        }
        match c {
            '_' | '.' | '-' => words.push(' '),
            c if is_new_word => words.extend(c.to_lowercase()),
            c => words.push(c),
        }
    }
    words.trim().to_string()
}

/// The first examples, one a line.
fn examples_text(examples: &[String]) -> String {
    let lines = examples.iter().take(MAX_EXAMPLES).map(|example| {
        let words: Vec<&str> = example.split_whitespace().collect();
        shortened(&words.join(" "), MAX_EXAMPLE)
    });
    or_none(&lines.collect::<Vec<_>>().join("\n"), usize::MAX)
}

/// A text, or "none" in place of a blank one.
fn or_none(text: &str, most: usize) -> String {
    match text.trim() {
        "" => "none".into(),
        text => shortened(text, most),
    }
}

/// At most so many characters of a text, with `…` if it is longer.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::planned::UserPersona;
    use super::super::tests::{blueprint, declared, gap_of_each_kind};
    use super::*;
    use crate::analysis::coverage::ArgumentClass;
    use proptest::prelude::*;
    use serde_json::json;

    fn planned(gap: PlannedGap) -> PlannedDraft {
        PlannedDraft {
            gap,
            persona: UserPersona::Novice,
        }
    }

    fn with_argument(class: ArgumentClass) -> PlannedDraft {
        planned(PlannedGap::Argument {
            tool: "water".into(),
            argument: "litres".into(),
            class,
        })
    }

    fn context<'a>(declared: &'a Declarations, examples: &'a [String]) -> PromptContext<'a> {
        PromptContext {
            declared,
            about_agent: "Tends a garden.",
            language: "Norwegian",
            examples,
        }
    }

    fn blueprint_of(planned: &PlannedDraft) -> String {
        let declared = declared();
        blueprint_prompt(
            planned,
            &context(&declared, &["Water the roses".to_string()]),
        )
    }

    #[test]
    fn blueprint_prompt_has_plan_tools_and_context() {
        let prompt = blueprint_of(&with_argument(ArgumentClass::Limit(20.0)));
        for part in [
            "in which the argument has the value",
            r#"{"tool":"water","argument":"litres","value":"20, which is a limit of what is allowed"}"#,
            r#""maximum":20"#,
            r#"{"name":"look""#,
            "home\nroses_agent",
            "Tends a garden.",
            "Water the roses",
            "Norwegian",
            r#"{"turns": [{"goal": "#,
        ] {
            assert!(prompt.contains(part), "{part}: {prompt}");
        }
        assert!(!prompt.contains("{{"), "{prompt}");
        let (water, look) = (
            prompt.find("{\"name\":\"water\""),
            prompt.find("{\"name\":\"look\""),
        );
        assert!(water < look, "planned tools come first");
    }

    #[test]
    fn each_gap_has_its_requirement() {
        let gaps = gap_of_each_kind();
        let requirements: std::collections::BTreeSet<&str> = gaps.iter().map(requirement).collect();
        assert_eq!(requirements.len(), gaps.len());
        for gap in gaps {
            let text = planned_text(&gap);
            let prompt = blueprint_of(&planned(gap.clone()));
            assert!(prompt.contains(requirement(&gap).trim()) && prompt.contains(&text));
        }
    }

    #[test]
    fn empty_context_is_named_as_none() {
        let nothing = PromptContext {
            declared: &Declarations::default(),
            about_agent: " ",
            language: "English",
            examples: &[],
        };
        let prompt = blueprint_prompt(&planned(PlannedGap::OutOfScope(1)), &nothing);
        assert_eq!(prompt.matches("]\nnone\n[END").count(), 4, "{prompt}");
    }

    #[test]
    fn many_tools_are_listed_by_name() {
        let mut declared = Declarations::default();
        for at in 0..100 {
            let name = format!("tool{at:03}");
            declared.add_tool(&name, None);
            declared.describe_tool(&name, &"x".repeat(600));
        }
        declared.add_tool(TRANSFER_TOOL, None);
        let text = tools_text(&declared, &PlannedGap::Tool("tool099".into()));
        assert!(text.starts_with("{\"name\":\"tool099\""));
        assert!(text.chars().count() < MAX_TOOLS + MAX_ABOUT);
        let last = text.lines().last().unwrap();
        assert!(
            last.ends_with("tool097, tool098") && !text.contains(TRANSFER_TOOL),
            "{last}"
        );
        let declarations = text.lines().filter(|line| line.starts_with('{')).count();
        let named = last.matches("tool0").count();
        assert_eq!(declarations + named, 100);
    }

    #[test]
    fn planned_tool_is_declared_at_any_length() {
        let mut declared = declared();
        let description = json!({"description": "x".repeat(500)});
        let properties = (0..100).map(|at| (format!("p{at}"), description.clone()));
        let properties: Map<String, Value> = properties.collect();
        declared.add_tool("long", Some(&json!({"properties": properties})));
        let is_declared =
            |planned: PlannedGap| tools_text(&declared, &planned).contains("{\"name\":\"long\"");
        let of = |tool: &str| PlannedGap::Tool(tool.into());
        assert!(is_declared(of("long")) && !is_declared(of("look")));
    }

    #[test]
    fn planned_argument_has_room_among_thousands() {
        let mut declared = declared();
        let properties = (0..5_000).map(|at| (format!("p{at:04}"), json!({})));
        let properties: Map<String, Value> = properties.collect();
        declared.add_tool("long", Some(&json!({"properties": properties})));
        let text = tools_text(
            &declared,
            &PlannedGap::ChangeOfMind {
                tool: "long".into(),
                argument: "p4999".into(),
            },
        );
        assert!(text.contains("\"p4999\"") && !text.contains("\"p4998\""));
        assert!(text.contains("\"more_parameters\":"));
        assert!(text.chars().count() < 40_000);
    }

    #[test]
    fn agents_without_room_are_counted() {
        let names = (0..2_000).map(|at| format!("agent{at:04}"));
        let declared = Declarations {
            agents: names.collect(),
            ..Declarations::default()
        };
        let text = agents_text(&declared, Some("agent1999"));
        assert!(text.chars().count() < MAX_AGENTS + 100);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["agent1999", "agent0000"]);
        let left_out = format!("(and {} more)", 2_000 - (lines.len() - 1));
        assert_eq!(lines.last(), Some(&left_out.as_str()));
    }

    #[test]
    fn wording_prompt_has_goals_and_values_only() {
        let turns = json!([{"goal": "Water a bed", "calls": [
            {"name": "water", "args": {"bed_name": "roses", "litres": 2, "id": "b7"},
                "from": {"bed_name": "user", "litres": "default", "id": "answer:1"}},
            {"name": "water", "args": {"bed_name": "tulips"}, "from": {"bed_name": "user"}},
            {"name": "transfer_to_agent", "args": {"agent_name": "roses_agent"}, "from": {"agent_name": "user"}},
        ]}, {"goal": "Stop", "calls": []}]);
        let blueprint = blueprint(turns, json!({}));
        let declared = declared();
        let context = context(&declared, &[]);
        let prompt = wording_prompt(
            &planned(PlannedGap::Tool("water".into())),
            &blueprint,
            &context,
        );
        let first = r#"{"turn":1,"goal":"Water a bed","values":{"bed name":"roses","bed name 2":"tulips"}}"#;
        let second = r#"{"turn":2,"goal":"Stop"}"#;
        assert!(
            prompt.contains(&format!("\n{first}\n{second}\n")),
            "{prompt}"
        );
        for absent in ["b7", "roses_agent", "bed_name", "{{"] {
            assert!(!prompt.contains(absent), "{absent}");
        }
        assert!(prompt.contains(UserPersona::Novice.description()));
        let absent = wording_prompt(&with_argument(ArgumentClass::Absent), &blueprint, &context);
        assert!(absent.contains(r#""not_mentioned":"litres""#), "{absent}");
    }

    #[test]
    fn names_of_parameters_are_written_as_words() {
        let names = ["bed_name", "bedName", "place.bedName", "bed", "URL", "_id"];
        let words = names.map(plain_name);
        assert_eq!(
            words,
            ["bed name", "bed name", "place bed name", "bed", "URL", "id"]
        );
    }

    #[test]
    fn long_data_is_cut() {
        let declared = declared();
        let long = [
            "y".repeat(600),
            "a\nb".into(),
            "3".into(),
            "4".into(),
            "5".into(),
            "sixth".into(),
        ];
        let context = PromptContext {
            about_agent: &"z".repeat(5_000),
            ..context(&declared, &long)
        };
        let prompt = blueprint_prompt(&planned(PlannedGap::OutOfScope(1)), &context);
        for (c, most) in [("y", MAX_EXAMPLE), ("z", MAX_ABOUT)] {
            let cut = format!("\n{}…\n", c.repeat(most));
            assert!(prompt.contains(&cut), "{c}");
        }
        assert!(prompt.contains("…\na b\n3\n4\n5\n[END examples") && !prompt.contains("sixth"));
    }

    #[test]
    fn repair_prompt_has_request_reply_and_problem() {
        let prompt = repair_prompt("The request.", "bad reply", "no call of water");
        assert!(prompt.starts_with("The request.\n\n"), "{prompt}");
        for part in [
            "]\nbad reply\n[END reply",
            "]\nno call of water\n[END problem",
        ] {
            assert!(prompt.contains(part), "{prompt}");
        }
        let long = repair_prompt("p", &"x".repeat(20_000), "q");
        assert!(long.len() < MAX_REPLY + 2_000);
    }

    proptest! {
        /// Whatever data contain, the marks around them are those of the first sentence and occur once each.
        #[test]
        fn data_are_between_marks_they_cannot_close(
            text in "(\\[END (tools|planned|turns|reply) [0-9a-f]{8}\\]|\\{\\{tools\\}\\}|.|\n){0,6}"
        ) {
            let mut declared = declared();
            declared.describe_tool("move_pot", &text);
            let examples = [text.clone()];
            let context = PromptContext { about_agent: &text, language: &text, ..context(&declared, &examples) };
            let plan = planned(PlannedGap::Tool(format!("look{text}")));
            let turn = BlueprintTurn { goal: text.clone(), calls: Vec::new() };
            let blueprint = Blueprint { turns: vec![turn], ..Blueprint::default() };
            for (prompt, names) in [
                (blueprint_prompt(&plan, &context), &["planned", "tools", "agents", "about_agent", "examples", "language"][..]),
                (wording_prompt(&plan, &blueprint, &context), &["turns", "about_agent", "examples", "language"]),
                (repair_prompt("p", &text, &text), &["reply", "problem"]),
            ] {
                let (_, after) = prompt.split_once("a line [BEGIN … ").unwrap();
                let mark = &after[..8];
                for name in names {
                    for end in ["BEGIN", "END"] {
                        let line = format!("[{end} {name} {mark}]");
                        prop_assert_eq!(prompt.matches(&line).count(), 1, "{}", prompt);
                    }
                }
            }
        }
    }
}
