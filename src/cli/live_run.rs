//! A run while it goes on: progress, `--fail-fast` and Ctrl-C.

use super::Exit;
use super::args::CaseArgs;
use super::exit_code::counted_failures;
use super::interrupts::Interrupts;
use super::output::{paint, tell};
use super::progress::{Reporter, Verbosity};
use super::uploader::Uploader;
use crate::domain::{CancelReason, RunEvent, RunState, Status, clean_line};
use crate::process::{exit, watch_workers};
use crate::runner::{Run, RunHandle};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// How long the workers may do something else when the run must stop.
const STOPS_WITHIN: Duration = Duration::from_secs(2);

/// Carries a run out to its end, and returns its state and whether it was interrupted. No attempts are started after
/// `fail_fast` attempts did not pass, or after another machine took over the shard that is uploaded.
pub(super) async fn carry_to_the_end(
    args: &CaseArgs,
    run: Run,
    workers: &Handle,
    (fail_fast, mut uploader): (Option<usize>, Option<&mut Uploader>),
) -> anyhow::Result<(RunState, bool)> {
    let Run { mut state, mut events, handle } = run;
    let verbosity = match (args.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    };
    let mut reporter = Reporter::new(paint(args.color), verbosity, !args.json);
    let began = Instant::now();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let mut interrupts = 0;
    // A resumed run has failures already.
    let (before, mut stopped) = (counted_failures(&state), false);
    // Installed before the loop, so that no signal is lost.
    let mut interrupted = Interrupts::listen()?;
    let mut terminated = Interrupts::of_the_system()?;
    loop {
        tokio::select! {
            biased;
            () = interrupted.next() => {
                interrupts += 1;
                reporter.erase();
                interrupt(interrupts, &handle, workers)?;
            }
            () = terminated.next() => {
                interrupts += 1;
                reporter.erase();
                tell("stopping, as the system asks; --resume runs what is left");
                stop(&handle, workers)?;
            }
            Some(why) = must_stop(&mut uploader) => {
                interrupts += 1;
                reporter.erase();
                tell(&format!("stopping: {}", clean_line(&why)));
                stop(&handle, workers)?;
            }
            event = events.recv() => {
                let Some(event) = event else { break };
                if let RunEvent::Finished(attempt) = &event {
                    reporter.finished(&state, attempt);
                }
                if let RunEvent::Warning(warning) = &event {
                    reporter.erase();
                    tell(&format!("warning: {}", clean_line(warning)));
                }
                // Counting takes time in proportion to all attempts.
                let may_be_last =
                    matches!(&event, RunEvent::Finished(attempt) if attempt.status != Status::Passed);
                state.apply(event);
                if may_be_last && !stopped && fail_fast.is_some_and(|most| counted_failures(&state) >= before + most) {
                    stopped = true;
                    reporter.erase();
                    tell("stopping after the first failures (--fail-fast); attempts in flight are finished");
                    handle.cancel(CancelReason::Finish);
                }
            }
            _ = tick.tick() => reporter.draw(&state, began.elapsed().as_secs_f64()),
        }
    }
    reporter.erase();
    Ok((state, interrupts > 0))
}

/// Waits until the upload says that the run must stop; never returns without an upload.
async fn must_stop(uploader: &mut Option<&mut Uploader>) -> Option<String> {
    match uploader {
        Some(uploader) => uploader.must_stop().await,
        None => std::future::pending().await,
    }
}

fn interrupt(times: u32, handle: &RunHandle, workers: &Handle) -> std::io::Result<()> {
    match times {
        1 => {
            tell("finishing the attempts in flight; Ctrl-C again stops now");
            handle.cancel(CancelReason::Finish);
            Ok(())
        }
        2 => {
            tell("stopping; Ctrl-C again ends without waiting");
            stop(handle, workers)
        }
        _ => exit(Exit::Interrupted.code().into()),
    }
}

/// Stops the run. If the workers cannot do so because all of them are busy, the process ends: what was reported is in the
/// journal.
fn stop(handle: &RunHandle, workers: &Handle) -> std::io::Result<()> {
    handle.cancel(CancelReason::Stop);
    watch_workers(workers, STOPS_WITHIN, || {
        tell("the run does not stop; ending without waiting");
        exit(Exit::Interrupted.code().into());
    })
}
