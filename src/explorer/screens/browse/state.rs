//! What the home screen knows.

use super::columns::Column;
use crate::domain::Query;
use crate::explorer::case_ref::CaseRef;
use crate::explorer::screens::case::state::CaseScreen;
use crate::explorer::ticket::Ticket;
use std::collections::BTreeSet;

/// A row of the tree of sets.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// All sets, where there are several.
    All,
    /// The sets of an agent or folder.
    Group(String),
    /// A set.
    Set(usize),
}

/// Which half of a screen has the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The tree of sets.
    Sets,
    /// The list of cases.
    Cases,
}

/// The order of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As in the file.
    File,
    /// What did not pass first.
    Failing,
    /// The slowest first.
    Slowest,
    /// What judges are least sure of first.
    Disputed,
    /// By the id of the case.
    Name,
    /// By the id of the set.
    Set,
    /// The smallest share of passed attempts first.
    PassRate,
    /// The lowest score of a deciding metric first.
    Score,
    /// The most turns first.
    Turns,
}

/// The list of sets and cases.
#[derive(Debug)]
pub struct Browse {
    /// The tree's rows.
    pub nodes: Vec<Node>,
    /// The tree's cursor.
    pub node: usize,
    /// The cases listed, in order.
    pub visible: Vec<CaseRef>,
    /// The list's cursor.
    pub cursor: usize,
    /// The first row shown.
    pub offset: usize,
    /// The selected cases.
    pub selected: BTreeSet<CaseRef>,
    /// Which half has the keys.
    pub pane: Pane,
    /// The filter as typed.
    pub filter: String,
    /// The filter as understood.
    pub query: Query,
    /// The order.
    pub order: Order,
    /// The columns that are not shown.
    pub hidden: BTreeSet<Column>,
    /// The case in the preview, when there is one.
    pub preview: Option<Box<CaseScreen>>,
    /// What the preview was opened on: the case, the reading of its file, and the version of its outcome.
    pub previewed: Option<(CaseRef, Ticket, Option<u64>)>,
}
