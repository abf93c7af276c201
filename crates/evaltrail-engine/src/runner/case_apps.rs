//! The applications that cases name, where they decide which agent runs a set.

use crate::workspace::{SetPath, Workspace, has_agent, is_known_app};
use evaltrail_core::domain::did_you_mean;
use evaltrail_core::formats::SetFile;

/// At most as many cases of a set are read for the applications that they name. All rows of a data set have the same one.
const MAX_READ: usize = 1_000;

/// The cases of a set that are run.
#[derive(Clone, Copy)]
pub(super) struct CaseApps<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) set: &'a SetPath,
    pub(super) file: &'a SetFile,
    /// Their positions.
    pub(super) cases: &'a [usize],
}

impl<'a> CaseApps<'a> {
    /// The first application that a case names and the workspace has; else the first one that a case names.
    pub(super) fn chosen(self) -> Option<String> {
        let mut named = self.named().map(|(_, app)| app).peekable();
        let first = named.peek().cloned();
        named.find(|app| self.is_known(app)).or(first)
    }

    /// Why no agent can run the first case that names an application that the workspace does not have. `None` if there is no such
    /// case, or the workspace has only one agent, which runs all.
    pub(super) fn unknown(self) -> Option<String> {
        let names = self.workspace.agent_names();
        let (eval_id, app) = self.named().find(|(_, app)| !self.is_known(app))?;
        let has_agent = has_agent(self.workspace, self.set, Some(&app));
        (!has_agent && !names.is_empty()).then(|| {
            format!(
                "case {eval_id:?} names the agent {app:?}, which does not exist; known agents: {}{}",
                names.join(", "),
                did_you_mean(&app, &names)
            )
        })
    }

    /// Whether the folder of the set decides instead of its cases.
    pub(super) fn is_in_agent_folder(self) -> bool {
        self.set
            .app
            .as_deref()
            .is_some_and(|app| self.is_known(app))
    }

    fn is_known(self, app: &str) -> bool {
        is_known_app(self.workspace, self.set, app)
    }

    /// The ids of cases with the applications that they name.
    fn named(self) -> impl Iterator<Item = (String, String)> + use<'a> {
        let most = if self.file.form.is_adk() { MAX_READ } else { 1 };
        let read = self.cases.iter().take(most);
        read.filter_map(move |at| {
            let case = self.file.case(*at).ok()?;
            let app = case.session_input?.app_name;
            (!app.is_empty()).then_some((case.eval_id, app))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::AgentSpec;
    use std::sync::Arc;

    /// A workspace with agents, and a set with cases that name applications.
    fn with_apps(agents: &[&str], apps: &[&str]) -> (Workspace, SetPath, SetFile) {
        let mut workspace = Workspace::default();
        for agent in agents {
            let spec = AgentSpec::Saved;
            workspace.config.agents.insert(agent.to_string(), spec);
        }
        let case = |(at, app): (usize, &&str)| {
            serde_json::json!({"eval_id": format!("c{at}"), "conversation": [],
                               "session_input": {"app_name": app, "user_id": "u"}})
        };
        let cases: Vec<_> = apps.iter().enumerate().map(case).collect();
        let text = serde_json::json!({"eval_set_id": "s", "eval_cases": cases}).to_string();
        let file = SetFile::open(Arc::from(text), "s").unwrap();
        let set = SetPath::of_file("/w/s.evalset.json".as_ref(), "/w".as_ref());
        (workspace, set, file)
    }

    #[test]
    fn unknown_app_is_named_with_case_and_similar() {
        let (workspace, set, file) = with_apps(&["dice", "cards"], &["dicee", "dice", ""]);
        let of_cases = |cases| CaseApps {
            workspace: &workspace,
            set: &set,
            file: &file,
            cases,
        };
        assert_eq!(
            of_cases(&[0, 1, 2]).unknown().as_deref(),
            Some(
                "case \"c0\" names the agent \"dicee\", which does not exist; known agents: cards, dice; did you mean \"dice\"?"
            )
        );
        assert_eq!(of_cases(&[0, 1]).chosen().as_deref(), Some("dice"));
        assert_eq!(of_cases(&[0]).chosen().as_deref(), Some("dicee"));
        assert_eq!(
            (of_cases(&[1, 2]).unknown(), of_cases(&[2]).chosen()),
            (None, None)
        );
    }

    #[test]
    fn only_agent_runs_cases_of_unknown_apps() {
        let (workspace, set, file) = with_apps(&["dice"], &["dicee"]);
        let apps = CaseApps {
            workspace: &workspace,
            set: &set,
            file: &file,
            cases: &[0],
        };
        assert_eq!(apps.unknown(), None);
    }
}
