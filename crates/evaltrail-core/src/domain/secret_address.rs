//! Secrets in addresses.

use super::secret_name::is_secret_parameter;
use super::secret_value::is_known_key;
use url::Url;

/// An address, or a text with one, without the user, the password, and the parameters that are secret by their names or by
/// the form of their values. All other parameters stay: they may choose the agent. What follows `#` stays, too: it names
/// variables.
pub fn address_without_secrets(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_string();
    };
    let (before, fragment) = match rest.find('#') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (path, query) = before
        .split_once('?')
        .map_or((before, None), |(path, query)| (path, Some(query)));
    let host_end = path.find('/').unwrap_or(path.len());
    let path = match path[..host_end].rfind('@') {
        Some(at) => format!("…{}", &path[at..]),
        None => path.to_string(),
    };
    let query = query.map(|query| {
        query
            .split('&')
            .map(parameter_without_secrets)
            .collect::<Vec<_>>()
            .join("&")
    });
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{scheme}://{path}{query}{fragment}")
}

fn parameter_without_secrets(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, value))
            if is_secret_parameter(&decoded(name)) || is_known_key(&decoded(value)) =>
        {
            format!("{name}=…")
        }
        _ => pair.to_string(),
    }
}

/// The secret values in an address: the password, the user in place of one, and the values of parameters that are secret by
/// their names or by their form.
pub fn secrets_in_address(address: &str) -> Vec<String> {
    let Ok(url) = Url::parse(address) else {
        return Vec::new();
    };
    let (user, password) = (decoded(url.username()), url.password().map(decoded));
    let mut values = match password {
        Some(password) => vec![format!("{user}:{password}"), password],
        None => vec![user],
    };
    let is_secret = |name: &str, value: &str| is_secret_parameter(name) || is_known_key(value);
    let pairs = url
        .query_pairs()
        .filter(|(name, value)| is_secret(name, value));
    values.extend(pairs.map(|(_, value)| value.into_owned()));
    values.extend(url.password().map(str::to_string));
    values
}

/// A part of an address without percent-encoding.
fn decoded(text: &str) -> String {
    let form = text
        .replace('+', "%2B")
        .replace('=', "%3D")
        .replace('&', "%26");
    let mut pairs = url::form_urlencoded::parse(form.as_bytes());
    pairs
        .next()
        .map_or_else(String::new, |(name, _)| name.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secret_parameters_are_left_out() {
        for (address, shown) in [
            (
                "https://h/run?agent=customer-support-v1&key=abc",
                "https://h/run?agent=customer-support-v1&key=…",
            ),
            (
                "https://h/run?keyword=weather&author=me",
                "https://h/run?keyword=weather&author=me",
            ),
            (
                "https://h/run?x=ghp_abcdefghijklmnopqrst0123",
                "https://h/run?x=…",
            ),
            ("https://h/run?api%5Fkey=abc", "https://h/run?api%5Fkey=…"),
            (
                "https://me:abc@h/a@b?c=d@e#token_env=K",
                "https://…@h/a@b?c=d@e#token_env=K",
            ),
            ("http://me:abc@h:wrong/x", "http://…@h:wrong/x"),
            ("no address", "no address"),
        ] {
            assert_eq!(address_without_secrets(address), shown);
        }
    }
}
