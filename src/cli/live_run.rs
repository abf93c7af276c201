//! A run while it goes on: progress, `--fail-fast` and Ctrl-C.

use super::args::CaseArgs;
use super::exit_code::counted_failures;
use super::interrupts::{EndRequest, Interrupts};
use super::output::{paint, print_note};
use super::progress::Reporter;
use super::uploader::Uploader;
use super::{Exit, print_error};
use evaltrail_core::domain::{
    CancelReason, InFlight, Progress, RunEvent, RunState, Status, clean_line,
};
use evaltrail_engine::process::{Deadline, exit};
use evaltrail_engine::runner::{Run, RunHandle};
use std::time::{Duration, Instant};

/// How long a run may take to stop. Then the process ends: what was reported is in the journal.
const STOPS_WITHIN: Duration = Duration::from_secs(2);
/// How long attempts that wait for a judge may take to end after the first Ctrl-C, before the run is stopped.
const JUDGING_ENDS_WITHIN: Duration = Duration::from_secs(1);

/// Carries a run out to its end, and returns its state and whether it was interrupted. No attempts are started after
/// `fail_fast` attempts did not pass, or after another machine took over the shard that is uploaded.
pub(super) async fn run_to_completion(
    args: &CaseArgs,
    run: Run,
    (fail_fast, mut uploader): (Option<usize>, Option<&mut Uploader>),
) -> anyhow::Result<(RunState, bool)> {
    let Run {
        mut state,
        mut events,
        handle,
    } = run;
    let mut reporter = Reporter::new(paint(args.color), args.verbosity(), !args.json);
    let began = Instant::now();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    // When the first request to end arrived, and what ends the process if the run does not.
    let (mut interrupted_at, mut deadline): (Option<Instant>, Option<Deadline>) = (None, None);
    // A resumed run has failures already.
    let (before, mut stopped) = (counted_failures(&state), false);
    // Installed before the loop, so that no signal is lost.
    let mut interrupted = Interrupts::listen()?;
    loop {
        tokio::select! {
            biased;
            request = interrupted.next() => {
                reporter.erase();
                let is_first = interrupted_at.is_none();
                interrupted_at.get_or_insert_with(Instant::now);
                match request {
                    _ if deadline.is_some() => exit(Exit::Interrupted.code().into()),
                    EndRequest::User if is_first => {
                        print_note(match state.in_flight.is_empty() {
                            true => "stopping; Ctrl-C again ends without waiting",
                            false => "finishing the conversations in flight; Ctrl-C again stops now",
                        });
                        handle.cancel(CancelReason::FinishConversations);
                    }
                    EndRequest::User => {
                        print_note("stopping; Ctrl-C again ends without waiting");
                        deadline = Some(stop(&handle, STOPS_WITHIN)?);
                    }
                    EndRequest::System => {
                        print_note("stopping, as the system asks (SIGTERM); --resume continues");
                        deadline = Some(stop(&handle, STOPS_WITHIN)?);
                    }
                }
            }
            Some(why) = must_stop(&mut uploader), if deadline.is_none() => {
                interrupted_at.get_or_insert_with(Instant::now);
                reporter.erase();
                print_note(&format!("stopping: {}", clean_line(&why)));
                deadline = Some(stop(&handle, STOPS_WITHIN)?);
            }
            event = events.recv() => {
                let Some(event) = event else { break };
                if let RunEvent::Finished(attempt) = &event {
                    reporter.finished(&state, attempt);
                }
                if let RunEvent::Warning(warning) = &event {
                    reporter.erase();
                    print_note(&format!("warning: {}", clean_line(warning)));
                }
                if let RunEvent::AgentUnavailable(agent) = &event {
                    reporter.erase();
                    print_error(&anyhow::anyhow!(agent.text()));
                }
                // Counting takes time in proportion to all attempts.
                let may_be_last =
                    matches!(&event, RunEvent::Finished(attempt) if attempt.status != Status::Passed);
                state.apply(event);
                if may_be_last && !stopped && fail_fast.is_some_and(|most| counted_failures(&state) >= before + most) {
                    stopped = true;
                    reporter.erase();
                    print_note("stopping after the first failures (--fail-fast); attempts in flight are finished");
                    handle.cancel(CancelReason::Finish);
                }
            }
            _ = tick.tick() => {
                let is_late = interrupted_at.is_some_and(|at| at.elapsed() > JUDGING_ENDS_WITHIN);
                if is_late && deadline.is_none() && state.in_flight.values().all(is_judged) {
                    deadline = Some(stop(&handle, STOPS_WITHIN - JUDGING_ENDS_WITHIN)?);
                }
                reporter.draw(&state, began.elapsed().as_secs_f64());
            }
        }
    }
    reporter.erase();
    Ok((state, interrupted_at.is_some()))
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
