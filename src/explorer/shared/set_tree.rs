//! The tree of sets: groups and order.

use crate::explorer::shared::case_list::TreeNode;
use crate::explorer::shared::set_view::SetView;
use evaltrail_engine::workspace::SetPath;

/// Group of a set: the folder of its agent, else the folder of its file.
pub(crate) fn group_of(set: &SetView) -> String {
    if let Some(app) = &set.path.app {
        return app.clone();
    }
    match set.path.shown.rsplit_once(['/', '\\']) {
        Some((folder, _)) => folder.to_string(),
        None => ".".to_string(),
    }
}

/// Creates views of sets that have not been opened yet, sorted by group and path.
pub(crate) fn sorted(sets: Vec<SetPath>) -> Vec<SetView> {
    let mut views: Vec<SetView> = sets.into_iter().map(SetView::new).collect();
    views.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    views
}

/// Sort key of sets in the tree.
fn sort_key(set: &SetView) -> (String, &str) {
    (group_of(set), &set.path.shown)
}

/// Maximum number of rows in the tree with which all sets are listed at the start; with more, only the first set is.
/// The list is rebuilt for each file that is read, which would be slow with many sets.
const ALL_AT_START: usize = 100;

/// The row to start at: all sets, or the first set if there is only one or there are too many rows.
pub(crate) fn first_node(nodes: &[TreeNode]) -> usize {
    let is_first = |node: &TreeNode| match node {
        TreeNode::All => nodes.len() <= ALL_AT_START,
        TreeNode::Set(_) => true,
        TreeNode::Group(_) => false,
    };
    nodes.iter().position(is_first).unwrap_or(0)
}

pub(crate) fn nodes_of(sets: &[SetView]) -> Vec<TreeNode> {
    let mut listed: Vec<usize> = (0..sets.len()).filter(|at| sets[*at].exists()).collect();
    listed.sort_by(|a, b| sort_key(&sets[*a]).cmp(&sort_key(&sets[*b])));
    let mut nodes = if listed.len() > 1 {
        vec![TreeNode::All]
    } else {
        Vec::new()
    };
    let mut group = None;
    for at in listed {
        let name = group_of(&sets[at]);
        if group.as_ref() != Some(&name) {
            nodes.push(TreeNode::Group(name.clone()));
            group = Some(name);
        }
        nodes.push(TreeNode::Set(at));
    }
    nodes
}
