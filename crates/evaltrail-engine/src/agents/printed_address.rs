//! Finds the address that a server printed when it started.

/// The address with another port than `port` on which the program says that it listens on this machine.
pub(super) fn printed_address(text: &str, port: u16) -> Option<String> {
    let is_end = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | ')' | ']' | ',' | '<' | '>')
    };
    let addresses = text.split("http").skip(1).filter_map(|rest| {
        let address = format!("http{}", rest.split(is_end).next().unwrap_or_default());
        let url = url::Url::parse(address.trim_end_matches(['.', ';'])).ok()?;
        let is_local = matches!(
            url.host_str()?,
            "localhost" | "127.0.0.1" | "0.0.0.0" | "[::1]" | "[::]"
        );
        let other = url.port_or_known_default().filter(|other| *other != port)?;
        is_local.then(|| {
            format!(
                "{}://{}:{other}",
                url.scheme(),
                url.host_str().unwrap_or_default()
            )
        })
    });
    addresses.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_port_is_found_in_the_output() {
        let text = "docs: https://example.org:99/x\nUvicorn running on http://127.0.0.1:8001 (Press CTRL+C to quit)\n";
        assert_eq!(
            printed_address(text, 5000).as_deref(),
            Some("http://127.0.0.1:8001")
        );
        assert_eq!(printed_address(text, 8001), None);
        assert_eq!(
            printed_address("on http://localhost/.", 1).as_deref(),
            Some("http://localhost:80")
        );
    }
}
