//! The binary. All of the code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    match evaltrail::cli::main() {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            evaltrail::cli::print_error(&error);
            ExitCode::from(2)
        }
    }
}
