//! Names of variables, options, headers and parameters whose values are secret.

/// Ends of words that name a secret, also where they are joined with another word (`GITHUBTOKEN`).
const SECRET_ENDINGS: [&str; 15] = [
    "ACCESSKEY",
    "APIKEY",
    "AUTHKEY",
    "BEARER",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "JWT",
    "PASSWD",
    "PASSWORD",
    "PRIVATEKEY",
    "SECRET",
    "SECRETKEY",
    "SESSIONID",
    "TOKEN",
];
/// Whole words that name a secret. They are parts of other words, too.
const SECRET_WORDS: [&str; 22] = [
    "AUTHORIZATION",
    "CONNSTR",
    "CRED",
    "CREDS",
    "DSN",
    "KEY",
    "KEYS",
    "OTP",
    "PASSPHRASE",
    "PAT",
    "PIN",
    "PRIVATE",
    "PW",
    "PWD",
    "SAS",
    "SECRETS",
    "SESSID",
    "SID",
    "SIG",
    "SIGNATURE",
    "WEBHOOK",
    "WEBHOOKS",
];
/// Words that name a secret at the end of a name: `DESK_AUTH`, but not `AUTH_PROVIDER`.
const SECRET_LAST: [&str; 3] = ["AUTH", "OAUTH", "PASS"];
/// Last words of names of something about a secret, not of the secret: `TOKEN_LIMIT`.
const ABOUT_A_SECRET: [&str; 20] = [
    "BUDGET", "COLUMN", "COUNT", "DIR", "ENABLED", "FILE", "FORMAT", "HEADER", "LENGTH", "LIMIT",
    "METHOD", "MODE", "NAME", "PATH", "PREFIX", "PROVIDER", "SIZE", "TTL", "TYPE", "VERSION",
];
/// Last words of the names of options that may have no value: `--private`.
const FLAGS: [&str; 11] = [
    "AUTH",
    "COOKIE",
    "OAUTH",
    "OTP",
    "PIN",
    "PRIVATE",
    "SAS",
    "SID",
    "SIG",
    "SIGNATURE",
    "WEBHOOK",
];
/// Parts of a name, wherever they are in it, that mark a variable as secret.
const BROAD: [&str; 20] = [
    "AUTH",
    "BEARER",
    "CONNECTION_STRING",
    "CONNSTR",
    "CONN_STR",
    "COOKIE",
    "CRED",
    "DSN",
    "JWT",
    "KEY",
    "PASS",
    "PRIVATE",
    "PWD",
    "SALT",
    "SECRET",
    "SESSID",
    "SIGNATURE",
    "SIGNING",
    "TOKEN",
    "WEBHOOK",
];
/// Words that end with `PAT`, but do not name a personal access token.
const NO_PAT: [&str; 2] = ["COMPAT", "SPAT"];
/// Variables of shells whose names look like those of secrets.
const NOT_SECRET: [&str; 2] = ["PWD", "OLDPWD"];

/// Whether the name of a variable, an option or a header says that its value is secret. Whole words decide: `API_KEY`,
/// `x-api-key` and `apiKey`, but not `keyword`, `author` or `MAX_TOKENS`.
pub fn is_secret_name(name: &str) -> bool {
    if NOT_SECRET
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
    {
        return false;
    }
    let words = upper_case_words(name);
    let Some(last) = words.last() else {
        return false;
    };
    let is_secret = |word: &String| {
        SECRET_WORDS.contains(&word.as_str())
            || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    !ABOUT_A_SECRET.contains(&last.as_str())
        && (SECRET_LAST.contains(&last.as_str()) || words.iter().any(is_secret))
}

/// Whether the value of a variable with this name must not leave the machine in an export: part of the name suggests a secret.
/// More names than those of [`is_secret_name`], since a text that is replaced in an export changes no score.
pub fn may_be_secret_name(name: &str) -> bool {
    if NOT_SECRET
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
    {
        return false;
    }
    let upper = name.to_ascii_uppercase();
    let words = upper_case_words(name);
    let is_pat = |word: &String| {
        let word = word.strip_suffix('S').unwrap_or(word);
        word.ends_with("PAT") && !NO_PAT.contains(&word)
    };
    is_secret_name(name)
        || BROAD.iter().any(|part| upper.contains(part))
        || words.iter().any(is_pat)
}

/// Whether an option with a name of a secret may have no value.
pub(super) fn is_secret_flag(name: &str) -> bool {
    upper_case_words(name)
        .last()
        .is_some_and(|last| FLAGS.contains(&last.as_str()))
}

/// Whether the name of a parameter in an address says that its value is secret.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    is_secret_name(name) || name.eq_ignore_ascii_case("code")
}

/// The words of a name in upper case: the letters between other characters, and between a lower and an upper case letter.
fn upper_case_words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let (mut words, mut word) = (Vec::new(), String::new());
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(at + 1);
        let begins = letter.is_ascii_uppercase()
            && (before.is_some_and(|before| before.is_ascii_lowercase())
                || (before.is_some_and(|before| before.is_ascii_uppercase())
                    && after.is_some_and(char::is_ascii_lowercase)));
        if (begins || !letter.is_ascii_alphabetic()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_ascii_alphabetic() {
            word.push(letter.to_ascii_uppercase());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_are_recognised() {
        for name in [
            "API_KEY",
            "github_token",
            "GITHUBTOKEN",
            "DESK_PAT",
            "DB_PWD",
            "SMTP_PASS",
            "SESSION_COOKIE",
            "SLACK_WEBHOOK_URL",
            "PRIVATE_PEM",
            "SENTRY_DSN",
            "x-api-key",
            "apiKey",
            "myAPIKey",
            "Ocp-Apim-Subscription-Key",
            "Authorization",
            "X-Auth",
            "sig",
            "STORAGE_SAS",
            "DESK_PAT2",
            "OAUTH2_ACCESS_TOKEN",
            "JSESSIONID",
            "--api-key",
            "DESK_CRED",
            "DESK_CREDS",
            "sid",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_part_of_a_name_is_enough_for_exports() {
        for name in [
            "OPENAIKEY",
            "API_TOKENS",
            "AUTH_HEADER",
            "SESSION_COOKIES",
            "DBPASS",
            "GITLABPAT",
            "DESK_PATS",
            "DESK_CRED",
            "SLACKWEBHOOKURL",
            "PRIVATE_PEM",
            "MYPWD",
            "SECRETS_FILE",
            "STORAGE_SAS",
        ] {
            assert!(may_be_secret_name(name), "{name}");
        }
        for name in [
            "PATH",
            "PYTHONPATH",
            "PWD",
            "OLDPWD",
            "PATTERN",
            "COMPAT",
            "HOME",
            "LANG",
            "DISPATCH",
        ] {
            assert!(!may_be_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_part_of_a_word_does_not_make_a_name_secret() {
        for name in [
            "PATH",
            "PWD",
            "OLDPWD",
            "PATTERN",
            "HOME",
            "LANG",
            "SIGNAL",
            "SPIN",
            "COMPAT",
            "x-tenant",
            "x-customer-id",
            "keyword",
            "author",
            "authority",
            "monkey",
            "passenger",
            "bypass_cache",
            "MAX_TOKENS",
            "TOKEN_LIMIT",
            "AUTH_PROVIDER",
            "PRIMARY_KEY_COLUMN",
            "",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
