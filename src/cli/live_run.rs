//! A run while it goes on: progress, `--fail-fast` and Ctrl-C.

use super::args::ColorWhen;
use super::exit_code::counted_failures;
use super::interrupts::{EndRequest, Interrupts};
use super::output::{paint, print_note};
use super::progress::Reporter;
use super::uploader::Uploader;
use super::{Exit, print_error};
use evaltrail_core::domain::{
    CancelReason, InFlight, Progress, RunEvent, RunState, Status, clean_line,
};
use evaltrail_engine::process::{Deadline, Runtimes, exit};
use evaltrail_engine::report::Verbosity;
use evaltrail_engine::runner::{self, PreparedRun, Run, RunHandle};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a run may take to stop. Then the process ends: what was reported is in the journal.
const STOPS_WITHIN: Duration = Duration::from_secs(2);
/// How long attempts that wait for a judge may take to end after the first Ctrl-C, before the run is stopped.
const JUDGING_ENDS_WITHIN: Duration = Duration::from_secs(1);

/// What is printed of a run while it goes on.
pub(super) struct RunOutput {
    pub(super) color: ColorWhen,
    pub(super) verbosity: Verbosity,
    /// Whether attempts are printed at all.
    pub(super) has_lines: bool,
    /// Whether `--resume` continues the run.
    pub(super) can_resume: bool,
}

/// Carries a run out to its end, and returns its state and whether it was interrupted. No attempts are started after
/// `fail_fast` attempts did not pass, or after another machine took over the shard that is uploaded.
pub(super) async fn run_to_completion(
    output: RunOutput,
    run: Run,
    fail_fast: Option<usize>,
    mut uploader: Option<&mut Uploader>,
) -> anyhow::Result<(RunState, bool)> {
    let Run {
        state,
        mut events,
        handle,
    } = run;
    let mut live = LiveRun {
        reporter: Reporter::new(paint(output.color), output.verbosity, output.has_lines),
        began: Instant::now(),
        interrupted_at: None,
        deadline: None,
        fail_fast,
        failures_before: counted_failures(&state),
        has_failed_fast: false,
        can_resume: output.can_resume,
        state,
        handle,
    };
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    // Installed before the loop, so that no signal is lost.
    let mut interrupted = Interrupts::listen()?;
    loop {
        tokio::select! {
            biased;
            request = interrupted.next() => live.interrupt(request)?,
            Some(why) = must_stop(&mut uploader), if live.deadline.is_none() => live.stop_because(&why)?,
            event = events.recv() => {
                let Some(event) = event else { break };
                live.apply(event);
            }
            _ = tick.tick() => live.tick()?,
        }
    }
    live.reporter.erase();
    Ok((live.state, live.interrupted_at.is_some()))
}

/// Carries a run out without a line for each attempt. It is recorded in a folder that is nobody's workspace. Returns its state, and
/// whether it was interrupted.
pub(super) fn run_in_private(
    prepared: PreparedRun,
    folder: &Path,
    runtimes: &Runtimes,
) -> anyhow::Result<(RunState, bool)> {
    let run = {
        let _entered = runtimes.workers().enter();
        runner::start(prepared, None, folder)
    };
    let output = RunOutput {
        color: ColorWhen::Auto,
        verbosity: Verbosity::Normal,
        has_lines: false,
        can_resume: false,
    };
    runtimes.run(run_to_completion(output, run, None, None))
}

/// A run in progress, and how it is ended.
struct LiveRun {
    state: RunState,
    handle: RunHandle,
    reporter: Reporter,
    began: Instant,
    /// When the first request to end arrived.
    interrupted_at: Option<Instant>,
    /// Ends the process if the run does not end.
    deadline: Option<Deadline>,
    /// No attempts are started after this number of attempts did not pass.
    fail_fast: Option<usize>,
    /// The failures before the first event: a resumed run has some already.
    failures_before: usize,
    /// Whether no attempts are started any more because of `fail_fast`.
    has_failed_fast: bool,
    /// Whether `--resume` continues the run.
    can_resume: bool,
}

impl LiveRun {
    /// Handles a request to end.
    fn interrupt(&mut self, request: EndRequest) -> anyhow::Result<()> {
        self.reporter.erase();
        let is_first = self.interrupted_at.is_none();
        self.interrupted_at.get_or_insert_with(Instant::now);
        match request {
            _ if self.deadline.is_some() => exit(Exit::Interrupted.code().into()),
            EndRequest::User if is_first => {
                print_note(match self.state.in_flight.is_empty() {
                    true => "stopping; Ctrl-C again ends without waiting",
                    false => "finishing the conversations in flight; Ctrl-C again stops now",
                });
                self.handle.cancel(CancelReason::FinishConversations);
            }
            EndRequest::User => {
                print_note("stopping; Ctrl-C again ends without waiting");
                self.deadline = Some(stop(&self.handle, STOPS_WITHIN)?);
            }
            EndRequest::System => {
                let resume = if self.can_resume {
                    "; --resume continues"
                } else {
                    ""
                };
                print_note(&format!("stopping, as the system asks (SIGTERM){resume}"));
                self.deadline = Some(stop(&self.handle, STOPS_WITHIN)?);
            }
        }
        Ok(())
    }

    /// Stops the run for a reason that is not a request to end.
    fn stop_because(&mut self, why: &str) -> anyhow::Result<()> {
        self.interrupted_at.get_or_insert_with(Instant::now);
        self.reporter.erase();
        print_note(&format!("stopping: {}", clean_line(why)));
        self.deadline = Some(stop(&self.handle, STOPS_WITHIN)?);
        Ok(())
    }

    /// Reports an event, and adds it to the state.
    fn apply(&mut self, event: RunEvent) {
        match &event {
            RunEvent::Finished(attempt) => self.reporter.finished(&self.state, attempt),
            RunEvent::Warning(warning) => {
                self.reporter.erase();
                print_note(&format!("warning: {}", clean_line(warning)));
            }
            RunEvent::AgentUnavailable(agent) => {
                self.reporter.erase();
                print_error(&anyhow::anyhow!(agent.text()));
            }
            _ => {}
        }
        let may_be_last =
            matches!(&event, RunEvent::Finished(attempt) if attempt.status != Status::Passed);
        self.state.apply(event);
        // Counting takes time in proportion to all attempts.
        if may_be_last && !self.has_failed_fast && self.has_too_many_failures() {
            self.has_failed_fast = true;
            self.reporter.erase();
            print_note(
                "stopping after the first failures (--fail-fast); attempts in flight are finished",
            );
            self.handle.cancel(CancelReason::Finish);
        }
    }

    /// Whether as many attempts did not pass as `fail_fast` says.
    fn has_too_many_failures(&self) -> bool {
        let is_reached = |most: usize| counted_failures(&self.state) >= self.failures_before + most;
        self.fail_fast.is_some_and(is_reached)
    }

    /// Redraws the progress. Stops an interrupted run that waits for judges only, and for too long.
    fn tick(&mut self) -> anyhow::Result<()> {
        let is_late = self
            .interrupted_at
            .is_some_and(|at| at.elapsed() > JUDGING_ENDS_WITHIN);
        if is_late && self.deadline.is_none() && self.state.in_flight.values().all(is_judged) {
            self.deadline = Some(stop(&self.handle, STOPS_WITHIN - JUDGING_ENDS_WITHIN)?);
        }
        let elapsed = self.began.elapsed().as_secs_f64();
        self.reporter.draw(&self.state, elapsed);
        Ok(())
    }
}

/// Waits until the upload says that the run must stop; never returns without an upload.
async fn must_stop(uploader: &mut Option<&mut Uploader>) -> Option<String> {
    match uploader {
        Some(uploader) => uploader.must_stop().await,
        None => std::future::pending().await,
    }
}

/// Whether a judge decides about an attempt now.
fn is_judged(attempt: &InFlight) -> bool {
    matches!(attempt.doing(), Progress::Judging { .. })
}

/// Stops the run. If it does not end within the limit, because a worker is busy, the process ends.
fn stop(handle: &RunHandle, limit: Duration) -> std::io::Result<Deadline> {
    handle.cancel(CancelReason::Stop);
    Deadline::after(limit, || {
        print_note("the run does not stop; ending without waiting");
        exit(Exit::Interrupted.code().into());
    })
}
