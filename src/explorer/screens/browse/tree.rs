//! The tree of sets: what is listed under what, and in which order.

use crate::explorer::model::{Model, SetView};
use crate::explorer::screens::browse::state::Node;
use crate::workspace::SetPath;

/// What a set is listed under: its agent's folder, else its own.
pub(crate) fn group_of(set: &SetView) -> String {
    if let Some(app) = &set.path.app {
        return app.clone();
    }
    match set.path.shown.rsplit_once(['/', '\\']) {
        Some((folder, _)) => folder.to_string(),
        None => ".".to_string(),
    }
}

/// Sets that are still to be opened, by group and path.
pub(crate) fn sorted(sets: Vec<SetPath>) -> Vec<SetView> {
    let mut views: Vec<SetView> = sets.into_iter().map(SetView::new).collect();
    views.sort_by(|a, b| place_of(a).cmp(&place_of(b)));
    views
}

/// What sets are sorted by on the screen.
fn place_of(set: &SetView) -> (String, &str) {
    (group_of(set), &set.path.shown)
}

/// Of more sets than this the first is listed at the start, not all: the list is made anew with each file that is
/// read, which would be felt.
const ALL_AT_START: usize = 100;

/// The row to start at: all sets, or the only one.
pub(crate) fn first_node(nodes: &[Node]) -> usize {
    let is_first = |node: &Node| match node {
        Node::All => nodes.len() <= ALL_AT_START,
        Node::Set(_) => true,
        Node::Group(_) => false,
    };
    nodes.iter().position(is_first).unwrap_or(0)
}

pub(crate) fn nodes_of(sets: &[SetView]) -> Vec<Node> {
    let mut listed: Vec<usize> = (0..sets.len()).filter(|at| sets[*at].is_there()).collect();
    listed.sort_by(|a, b| place_of(&sets[*a]).cmp(&place_of(&sets[*b])));
    let mut nodes = if listed.len() > 1 { vec![Node::All] } else { Vec::new() };
    let mut group = None;
    for at in listed {
        let name = group_of(&sets[at]);
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
            Node::All => model.listed_sets().collect(),
            Node::Set(set) => vec![*set],
            Node::Group(name) => {
                model.listed_sets().filter(|&at| group_of(&model.sets[at]) == *name).collect()
            }
        }
    }
}
