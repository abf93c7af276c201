//! State of the home screen.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::list_columns::Column;
use crate::explorer::shared::list_order::ListOrder;
use crate::explorer::shared::matched::MatchedCases;
use evaltrail_core::domain::{Cause, Query};
use std::collections::BTreeSet;

/// A row of the tree of sets.
#[derive(Clone, Debug, PartialEq)]
pub enum TreeNode {
    /// All sets. Present only if there are several.
    All,
    /// The sets of an agent or folder.
    Group(String),
    /// A set, by its index in [`crate::explorer::shared::model::View::sets`].
    Set(usize),
}

/// The cases of a group of failures to which the list is narrowed, beside the filter. They stay listed when they are
/// run again.
#[derive(Clone, Debug, PartialEq)]
pub struct NarrowedTo {
    /// What they had in common when the list was narrowed.
    pub what: Narrowing,
    /// The cases.
    pub cases: BTreeSet<CaseRef>,
}

/// What the failures of a group have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum Narrowing {
    /// Failures that share this cause.
    Cause(Cause),
    /// Failures that share this cause, and no more specific one with another.
    Others(Cause),
    /// Failures that share no cause with another one.
    Alone,
    /// Cases that have this to do with a tool, as a predicate: "expect water_bed".
    Tool(String),
}

impl Narrowing {
    /// What the cases have in common, in words.
    pub fn describe(&self) -> String {
        match self {
            Narrowing::Cause(cause) => cause.describe(),
            Narrowing::Others(cause) => format!("{} (others)", cause.describe()),
            Narrowing::Alone => "each for its own reason".into(),
            Narrowing::Tool(what) => what.clone(),
        }
    }
}

/// The panes of the home screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The tree of sets.
    Sets,
    /// The list of cases.
    Cases,
}

/// The home screen. The model keeps its state, [`BrowseState`], while another screen is shown.
#[derive(Clone, Copy, Debug)]
pub struct BrowseScreen;

/// A case that was edited. It can leave a filtered list until it is evaluated again; unless the cursor was moved since, it
/// returns to the case then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditedCase {
    /// The case.
    pub case: CaseRef,
    /// The case under the cursor when the list was built last; `None` if it was empty.
    pub cursor_on: Option<CaseRef>,
}

/// State of the home screen.
#[derive(Debug)]
pub struct BrowseState {
    /// Rows of the tree.
    pub nodes: Vec<TreeNode>,
    /// Cursor of the tree: index into `nodes`.
    pub node: usize,
    /// The listed cases, in order.
    pub visible: Vec<CaseRef>,
    /// Cursor of the list: index into `visible`.
    pub cursor: usize,
    /// First visible row of the list.
    pub offset: usize,
    /// The selected cases.
    pub selected: BTreeSet<CaseRef>,
    /// The focused pane.
    pub pane: Pane,
    /// The filter as typed.
    pub filter: String,
    /// The filter, parsed.
    pub query: Query,
    /// The cases that match the filter.
    pub matched: MatchedCases,
    /// What the list is narrowed to, beside the filter.
    pub narrowing: Option<NarrowedTo>,
    /// The order of the list.
    pub order: ListOrder,
    /// The hidden columns.
    pub hidden: BTreeSet<Column>,
    /// The case that was edited, to which the cursor returns.
    pub edited: Option<EditedCase>,
    /// The case under the cursor and the row where it was, if it has moved since because results changed: the next case that did
    /// not pass is the one that follows that row.
    pub moved_from: Option<(CaseRef, usize)>,
    /// What the list was built from last: the row of the tree, the filter, and the order.
    pub listed: (usize, String, ListOrder),
    /// Whether the user has not done anything yet: until then, the cursor stays on the first row, whatever arrives.
    pub stays_first: bool,
    /// Whether there are new results since the user last went to a failing case.
    pub has_new_results: bool,
}

impl BrowseState {
    /// A list with this tree, with its cursor on this row.
    pub(crate) fn new(nodes: Vec<TreeNode>, node: usize) -> BrowseState {
        BrowseState {
            nodes,
            node,
            visible: Vec::new(),
            cursor: 0,
            offset: 0,
            selected: BTreeSet::new(),
            pane: Pane::Cases,
            filter: String::new(),
            query: Query::default(),
            matched: MatchedCases::default(),
            narrowing: None,
            order: ListOrder::File,
            hidden: BTreeSet::new(),
            edited: None,
            moved_from: None,
            listed: (node, String::new(), ListOrder::File),
            stays_first: true,
            has_new_results: false,
        }
    }
}
