//! The tree of sets: what is listed under what, and in which order.

use super::model::{Model, Node, SetState, SetView};
use crate::workspace::SetPath;
use std::sync::Arc;

/// What a set is listed under: its agent's folder, else its own.
pub(super) fn group_of(set: &SetView) -> String {
    if let Some(app) = &set.path.app {
        return app.clone();
    }
    match set.path.shown.rsplit_once(['/', '\\']) {
        Some((folder, _)) => folder.to_string(),
        None => ".".to_string(),
    }
}

/// The sets by group and path; those that were known keep what is known of them.
pub(super) fn views_of(sets: Vec<SetPath>, mut known: Vec<SetView>) -> Vec<SetView> {
    let mut views: Vec<SetView> = sets
        .into_iter()
        .map(|path| match known.iter().position(|view| view.path == path) {
            Some(at) => known.swap_remove(at),
            None => SetView {
                path,
                state: SetState::Loading,
                agent: Err("not looked for yet".into()),
                notes: Arc::default(),
                summaries: None,
            },
        })
        .collect();
    views.sort_by(|a, b| (group_of(a), &a.path.shown).cmp(&(group_of(b), &b.path.shown)));
    views
}

pub(super) fn first_set_node(nodes: &[Node]) -> usize {
    nodes.iter().position(|node| matches!(node, Node::Set(_))).unwrap_or(0)
}

pub(super) fn nodes_of(sets: &[SetView]) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut group = None;
    for (at, set) in sets.iter().enumerate() {
        let name = group_of(set);
        if group.as_ref() != Some(&name) {
            nodes.push(Node::Group(name.clone()));
            group = Some(name);
        }
        nodes.push(Node::Set(at));
    }
    nodes
}

impl Node {
    /// The sets that are listed when this row is chosen.
    pub fn sets(&self, model: &Model) -> Vec<usize> {
        match self {
            Node::Set(set) => vec![*set],
            Node::Group(name) => {
                (0..model.sets.len()).filter(|&at| group_of(&model.sets[at]) == *name).collect()
            }
        }
    }
}
