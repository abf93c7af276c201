//! The name of this machine.

/// The name of this machine; empty if it has none.
pub fn host_name() -> String {
    #[cfg(unix)]
    return rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(windows)]
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
