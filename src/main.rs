//! The thin binary: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    match evaltrail::cli::main() {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            eprintln!("evaltrail: {}", evaltrail::domain::clean(&evaltrail::cli::words_of(&error)));
            ExitCode::from(2)
        }
    }
}
