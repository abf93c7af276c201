//! The loop at the start: the folder, what was remembered of it, the theme and the terminal.

use super::{EventLoop, Explorer, OpenedRunFile, judge_of, paths_of_sets, theme_named};
use crate::explorer::app::update::update;
use crate::explorer::sets::load::{go_to, load_set};
use crate::explorer::shared::effect::{Effect, HistoryEffect};
use crate::explorer::shared::list_columns::hidden_columns;
use crate::explorer::shared::list_order::ListOrder;
use crate::explorer::shared::message::{Msg, SetMsg};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::set_view::SetState;
use crate::explorer::shared::theme::Theme;
use crate::explorer::terminal::effects::{EffectExecutor, LoopEvent};
use crate::explorer::terminal::frames::Frames;
use crate::explorer::terminal::guard as terminal;
use crate::explorer::terminal::keys::KeyInput;
use crate::explorer::terminal::load_sets::loaded;
use crate::explorer::terminal::paths::folder_of;
use crate::explorer::terminal::user_config::apply_user_config;
use evaltrail_core::formats::ColumnMap;
use evaltrail_engine::store::{AppFolders, WorkspacePreferences};
use evaltrail_engine::workspace::{Workspace, root_of};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long opening the folder may take before the first frame is drawn without it.
const OPEN_TIMEOUT: Duration = Duration::from_millis(80);

/// The theme of the last time. It may have been removed from the user's configuration since.
fn last_theme(remembered: WorkspacePreferences) -> String {
    let is_known = |name: &String| Theme::names().any(|known| known == name);
    remembered
        .theme
        .filter(is_known)
        .unwrap_or_else(|| "default".into())
}

impl EventLoop {
    /// Creates the loop. Also returns the effects of opening the first sets.
    pub(super) fn open(
        explorer: Explorer,
        signals: terminal::SignalNotifications,
        workers: Handle,
    ) -> io::Result<(EventLoop, Vec<Effect>)> {
        let began = Instant::now();
        let since = SystemTime::now();
        let (back, arrivals) = mpsc::channel(64);
        let opened = explorer.opened;
        let found = open_workspace(&opened, &explorer.columns, back.clone())?;
        let is_searching = found.is_none();
        let workspace = Arc::new(found.unwrap_or_else(|| Workspace {
            root: root_of(&opened),
            ..Workspace::default()
        }));
        let app_folders = AppFolders::find();
        let remembered = app_folders
            .as_ref()
            .map(|app_folders| WorkspacePreferences::load(app_folders, &workspace.root))
            .unwrap_or_default();
        let mut model = model_of(&workspace, explorer.title, &opened);
        model.is_searching = is_searching;
        let executor = EffectExecutor {
            workers,
            workspace,
            opened,
            columns: explorer.columns,
            sets: Arc::new(paths_of_sets(&model)),
            since,
            back,
            run: None,
            app_folders,
            chat: None,
            results_placed: CancellationToken::new(),
            declined: BTreeSet::new(),
        };
        restore_list(&mut model, &remembered);
        let mut first = first_sets(&mut model, &executor, &remembered);
        if let Some(file) = explorer.run {
            first = open_run_file(&mut model, &executor, file);
        }
        configure(
            &mut model,
            executor.app_folders.as_ref(),
            explorer.theme,
            remembered,
        );
        let opened = EventLoop::take_terminal(model, executor, arrivals, signals, began)?;
        Ok((opened, first))
    }

    /// Creates the loop with the terminal, which is taken from the shell.
    fn take_terminal(
        model: Model,
        executor: EffectExecutor,
        arrivals: mpsc::Receiver<LoopEvent>,
        signals: terminal::SignalNotifications,
        began: Instant,
    ) -> io::Result<EventLoop> {
        let (true_colour, no_colour) = colours_of_terminal();
        let theme = theme_named(&model.theme, true_colour, no_colour).map_err(io::Error::other)?;
        let screen = terminal::take(model.mouse)?;
        Ok(EventLoop {
            theme_of: model.theme.clone(),
            model,
            theme,
            screen,
            frames: Frames::new(began),
            executor,
            arrivals,
            run_events: None,
            keys: KeyInput::open(signals.resized)?,
            resumed: signals.resumed,
            is_question_shown: false,
            began,
            true_colour,
            no_colour,
            left: None,
            _watch: None,
            _watch_of_results: None,
        })
    }
}

/// The explorer's state before anything is read from the eval sets.
fn model_of(workspace: &Workspace, title: String, opened: &Path) -> Model {
    let size = crossterm::terminal::size().unwrap_or((80, 24));
    let mut model = Model::new(title, workspace.sets.clone(), size);
    model.folder = folder_of(opened);
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    model.opened_at = unix.map_or(0.0, |time| time.as_secs_f64());
    model.author = user_name();
    model.judge = judge_of(workspace);
    model.agents = workspace.agent_names();
    model
}

/// Whether the terminal has 24-bit colours, and whether the user wants none.
fn colours_of_terminal() -> (bool, bool) {
    let true_colour =
        std::env::var("COLORTERM").is_ok_and(|v| matches!(v.as_str(), "truecolor" | "24bit"));
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    (true_colour, no_colour)
}

/// Applies the user's configuration. The theme is the requested one, the configured one, or that of the last time.
fn configure(
    model: &mut Model,
    app_folders: Option<&AppFolders>,
    requested: Option<String>,
    remembered: WorkspacePreferences,
) {
    let configured = app_folders.and_then(|app_folders| apply_user_config(app_folders, model));
    model.theme = requested
        .or(configured)
        .unwrap_or_else(|| last_theme(remembered));
}

/// Restores the columns and the order of the list of cases.
fn restore_list(model: &mut Model, remembered: &WorkspacePreferences) {
    model.view.browse.hidden = hidden_columns(&remembered.hidden_columns);
    let order = ListOrder::ALL
        .into_iter()
        .find(|order| order.describe() == remembered.order);
    model.view.browse.order = order.unwrap_or(ListOrder::Failing);
}

/// The name of the user in the environment; empty if there is none.
fn user_name() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    named.unwrap_or_default()
}

/// Opens the workspace in the background. Returns `None` if this takes longer than [`OPEN_TIMEOUT`]; the workspace then
/// arrives as a message.
fn open_workspace(
    opened: &Path,
    columns: &ColumnMap,
    back: mpsc::Sender<LoopEvent>,
) -> io::Result<Option<Workspace>> {
    let (found, finding) = std::sync::mpsc::sync_channel(0);
    let (path, columns) = (opened.to_path_buf(), columns.clone());
    std::thread::spawn(move || {
        // The channel has no buffer: sending fails if the explorer no longer waits, and the result is sent as a
        // message.
        if let Err(late) = found.send(Workspace::open_with(&path, &columns)) {
            let _ = back.blocking_send(match late.0 {
                Ok(workspace) => LoopEvent::Workspace(Box::new(workspace)),
                Err(error) => LoopEvent::Msg(Msg::Failed(error.to_string())),
            });
        }
    });
    match finding.recv_timeout(OPEN_TIMEOUT) {
        Ok(found) => found
            .map(Some)
            .map_err(|error| io::Error::other(error.to_string())),
        Err(_) => Ok(None),
    }
}

/// Loads the set that is shown first, and returns the effects that load the others.
fn first_sets(
    model: &mut Model,
    executor: &EffectExecutor,
    remembered: &WorkspacePreferences,
) -> Vec<Effect> {
    let by_name = |shown: &String| {
        model
            .view
            .sets
            .iter()
            .position(|set| set.path.shown == *shown)
    };
    let first = remembered.set.as_ref().and_then(by_name).unwrap_or(0);
    let mut effects = Vec::new();
    if let Some(path) = executor.sets.get(first) {
        let answer = loaded(&executor.workspace, path, first, model.ticket());
        effects.extend(update(model, Msg::Sets(SetMsg::Loaded(answer))));
    }
    if let Some(shown) = &remembered.set {
        go_to(model, shown, remembered.case);
    }
    let rest = (0..model.view.sets.len())
        .filter(|&set| matches!(model.view.sets[set].state, SetState::Loading));
    for set in rest.collect::<Vec<_>>() {
        effects.push(load_set(model, set));
    }
    effects
}

/// Shows a run from a file instead of the folder. Returns the effects that read it.
fn open_run_file(model: &mut Model, executor: &EffectExecutor, file: OpenedRunFile) -> Vec<Effect> {
    model.is_run_file = true;
    model.is_renewed = file.newer.is_some();
    if let Some(newer) = file.newer {
        executor.renew(newer);
    }
    vec![Effect::History(HistoryEffect::OpenFolder(
        file.run, file.case,
    ))]
}
