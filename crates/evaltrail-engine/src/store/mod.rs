//! Files that evaltrail writes: journals of runs, permissions, remembered state and cached responses of judges. This is
//! also the only module that writes the user's files.
//!
//! ```text
//! <workspace>/.evaltrail/runs/<run id>/{run.json, whole_plan.json, journal.jsonl, summaries, lock}  evaltrail's, ignored by git
//! <workspace>/.evaltrail/run_labels.jsonl                         names and pins of runs
//! <workspace>/.evaltrail/decisions.jsonl                          people's decisions on failures
//! <workspace>/.evaltrail/verdicts.jsonl                           people's verdicts on judges
//! <agent>/.adk/eval_history/*.evalset_result.json                     ADK's, written when a run ends
//! the platform's directories: permissions, state, the log of edits for undo, the key that signs runs, digests of reports
//! ```

mod app_folders;
mod baseline;
mod bucket_copy;
mod checked_file;
mod claims;
mod copy_address;
mod copy_edit;
mod copy_error;
mod copy_files;
mod copy_update;
mod decisions;
mod edit_log;
mod edited_file;
mod edits;
mod evaltrail_folder;
mod exchange;
mod full_plan;
mod journal;
mod journal_block;
mod journal_error;
mod journal_line;
mod journal_reader;
mod journal_records;
mod judge_responses;
mod lock;
mod locked_copies;
mod output;
mod parent_folder;
mod plan_file;
mod preferences;
mod pushed;
mod queue;
mod read;
mod run_export;
mod run_folders;
mod run_key;
mod run_labels;
mod save;
mod save_error;
mod secret_file;
mod standard_input;
mod summaries;
mod table_copy;
mod temporary;
mod trust;
mod verdicts;
mod wanted_objects;
mod whole_file;
mod written;

pub use app_folders::AppFolders;
pub use baseline::{
    BASELINE_FILE, Baseline, baseline_path, baseline_run_id, read_baseline, remove_baseline,
    write_baseline,
};
pub use bucket_copy::{Copied, copy_bucket, new_copy};
pub use claims::{
    Claim, ClaimEnd, ClaimOutcome, ClaimState, Claimant, claim, claim_states, mark_runs_folder,
    shard_claim_name,
};
pub use copy_address::{address_of_copy, with_addresses};
pub use copy_error::CopyError;
pub(crate) use copy_files::make_private_folder;
pub use copy_update::OnFetched;
pub use decisions::{read_decisions, save_decisions};
pub use edit_log::EditLog;
pub use edited_file::{FileAction, FileEdit};
pub use edits::{EditOutcome, FileEditError, Reversal, ReversibleEdit, Scope, UndoError};
pub use full_plan::{AllShardsPlan, full_plan_of, full_plan_text, parse_full_plan, shard_folders};
pub use journal::RunFolder;
pub use journal_error::JournalError;
pub use journal_reader::{JournalLines, LoadedRun, load_plan, load_run, load_run_with};
pub use judge_responses::{CachedResponse, JudgeResponseCache};
pub(crate) use lock::try_lock_at;
pub use output::{can_write_output, check_links, fill_output};
pub use plan_file::{MAX_ATTEMPTS, RUN_FORMAT, StoredPlan};
pub use preferences::WorkspacePreferences;
pub use pushed::{PushError, RunPush, copy_pushed_runs, has_pushed_runs};
pub use queue::{CaseQueue, MAX_QUEUED, NextCase};
pub use read::{read_file, read_start, read_tail, read_text_file};
pub use run_export::{export_run, file_id, unpack_run};
pub use run_folders::{all_run_folders, remove_run, run_folders, run_path, run_size};
pub use run_key::RunKey;
pub use run_labels::{RunLabel, read_run_labels, run_name_error, save_run_label};
pub use save::{Replace, create, remove, replace};
pub use save_error::SaveError;
pub use standard_input::store_input;
pub use summaries::SummaryWriter;
pub use table_copy::copy_table;
pub use temporary::sweep;
pub use trust::{Fingerprint, Trust, fingerprint};
pub use verdicts::{read_verdicts, save_verdicts};
pub use whole_file::{append_to, fill_whole, write_whole};
pub use written::{RecordedOutput, WrittenFiles};
