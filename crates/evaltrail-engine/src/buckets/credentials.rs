//! Whether the environment has credentials for an object store. It is checked before a client is made: without
//! credentials, the client would ask the metadata address of a cloud, which takes many seconds elsewhere.

use super::address::Scheme;
use std::path::{Path, PathBuf};

/// What is known about this machine.
pub(super) struct CredentialVariables<'a> {
    /// The value of a variable, if it is set and not empty.
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file, if it exists.
    pub(super) read: &'a dyn Fn(&Path) -> Option<String>,
    /// What the firmware says about the machine: its maker, product and tag.
    pub(super) machine: &'a str,
}

impl CredentialVariables<'_> {
    /// Whether one of these variables is set.
    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| (self.variable)(name).is_some())
    }
}

/// Checks that there are credentials. The error says which ones would do.
pub(super) fn check(scheme: Scheme, environment: &CredentialVariables) -> Result<(), String> {
    match scheme {
        Scheme::Folder => Ok(()),
        Scheme::Gcs => check_gcs(environment),
        Scheme::S3 => check_s3(environment),
        Scheme::Azure => check_azure(environment),
    }
}

fn check_gcs(environment: &CredentialVariables) -> Result<(), String> {
    let folder = match cfg!(windows) {
        true => (environment.variable)("APPDATA").map(|data| Path::new(&data).join("gcloud")),
        false => (environment.variable)("HOME").map(|home| Path::new(&home).join(".config/gcloud")),
    };
    let login = folder.map(|folder| folder.join("application_default_credentials.json"));
    let is_known = environment.has_any(&[
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SKIP_SIGNATURE",
        "SERVICE_ACCOUNT",
        "CLOUD_RUN_JOB",
        "K_SERVICE",
        "GCE_METADATA_HOST",
    ]) || login.is_some_and(|login| (environment.read)(&login).is_some())
        || environment.machine.contains("Google");
    known_or(is_known, || {
        "no credentials for Google Cloud Storage: run `gcloud auth application-default login`, or set \
         GOOGLE_APPLICATION_CREDENTIALS to the file of a service account"
            .into()
    })
}

fn check_s3(environment: &CredentialVariables) -> Result<(), String> {
    let is_known = environment.has_any(&[
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_SKIP_SIGNATURE",
    ]) || environment.machine.to_lowercase().contains("amazon")
        || aws_profile(environment).is_some();
    known_or(is_known, || {
        let profile =
            (environment.variable)("AWS_PROFILE").map(|name| format!(" --profile {name}"));
        format!(
            "no credentials for S3: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or run `aws configure`; \
             with SSO, run eval \"$(aws configure export-credentials --format env{})\"",
            profile.unwrap_or_default()
        )
    })
}

fn check_azure(environment: &CredentialVariables) -> Result<(), String> {
    /// The tag of the chassis of Azure's machines.
    const TAG: &str = "7783-7084-3265-9085-8269-3286-77";
    let is_emulator = environment.has_any(&["AZURE_STORAGE_USE_EMULATOR"]);
    if !is_emulator && !environment.has_any(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_ACCOUNT_NAME"]) {
        return Err("no account for Azure Blob Storage: set AZURE_STORAGE_ACCOUNT_NAME".into());
    }
    let keys = [
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN",
        "AZURE_CLIENT_SECRET",
        "AZURE_STORAGE_CLIENT_SECRET",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_USE_AZURE_CLI",
        "AZURE_SKIP_SIGNATURE",
        "IDENTITY_ENDPOINT",
    ];
    let is_known = is_emulator || environment.has_any(&keys) || environment.machine.contains(TAG);
    known_or(is_known, || {
        "no credentials for Azure Blob Storage: run `az login` and set AZURE_USE_AZURE_CLI=true, or set \
         AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN"
            .into()
    })
}

/// The keys of a profile in AWS's files.
#[derive(Debug, PartialEq)]
pub(super) struct AwsProfile {
    pub(super) key_id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
    pub(super) region: Option<String>,
}

/// The keys of the profile that `AWS_PROFILE` names, or of `default`; `None` if its files have none.
pub(super) fn aws_profile(environment: &CredentialVariables) -> Option<AwsProfile> {
    let variable = environment.variable;
    let name = variable("AWS_PROFILE").unwrap_or_else(|| "default".into());
    let folder = variable("HOME")
        .or_else(|| variable("USERPROFILE"))
        .map(|home| Path::new(&home).join(".aws"));
    let text = |names_file: &str, file: &str| {
        let path = variable(names_file)
            .map(PathBuf::from)
            .or_else(|| Some(folder.as_ref()?.join(file)))?;
        (environment.read)(&path)
    };
    let credentials = text("AWS_SHARED_CREDENTIALS_FILE", "credentials").unwrap_or_default();
    let config = text("AWS_CONFIG_FILE", "config").unwrap_or_default();
    let section = if name == "default" {
        name.clone()
    } else {
        format!("profile {name}")
    };
    let value = |key: &str| {
        ini_value(&credentials, &name, key).or_else(|| ini_value(&config, &section, key))
    };
    Some(AwsProfile {
        key_id: value("aws_access_key_id")?,
        secret: value("aws_secret_access_key")?,
        token: value("aws_session_token"),
        region: value("region"),
    })
}

/// The value of a key in a section of an INI file.
fn ini_value(text: &str, section: &str, key: &str) -> Option<String> {
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            is_inside = name.trim() == section;
        } else if let Some((_, value)) = line
            .split_once('=')
            .filter(|(name, _)| is_inside && name.trim() == key)
        {
            return Some(value.trim().to_string()).filter(|value| !value.is_empty());
        }
    }
    None
}

fn known_or(is_known: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if is_known { Ok(()) } else { Err(message()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(
        scheme: Scheme,
        set: &[(&str, &str)],
        machine: &str,
        files: &[&str],
    ) -> Result<(), String> {
        let variable = |name: &str| {
            set.iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.to_string())
        };
        let read = |path: &Path| {
            files
                .iter()
                .any(|file| Path::new(file) == path)
                .then(String::new)
        };
        check(
            scheme,
            &CredentialVariables {
                variable: &variable,
                read: &read,
                machine,
            },
        )
    }

    #[test]
    fn missing_credentials_are_named() {
        let said = |scheme, set| checked(scheme, set, "", &[]).unwrap_err();
        assert!(
            said(Scheme::Gcs, &[("HOME", "/h")]).contains("gcloud auth application-default login")
        );
        assert!(said(Scheme::S3, &[("AWS_PROFILE", "work")]).contains("--profile work"));
        assert!(said(Scheme::Azure, &[]).contains("AZURE_STORAGE_ACCOUNT_NAME"));
        assert!(said(Scheme::Azure, &[("AZURE_STORAGE_ACCOUNT_NAME", "a")]).contains("az login"));
    }

    #[test]
    fn credentials_are_found_where_they_usually_are() {
        let login = "/h/.config/gcloud/application_default_credentials.json";
        assert_eq!(
            checked(Scheme::Gcs, &[("HOME", "/h")], "", &[login]),
            Ok(())
        );
        assert_eq!(
            checked(Scheme::Gcs, &[], "Google Compute Engine", &[]),
            Ok(())
        );
        assert_eq!(
            checked(Scheme::Gcs, &[("CLOUD_RUN_JOB", "j")], "", &[]),
            Ok(())
        );
        assert_eq!(
            checked(Scheme::S3, &[("AWS_ACCESS_KEY_ID", "k")], "", &[]),
            Ok(())
        );
        assert_eq!(checked(Scheme::S3, &[], "Amazon EC2", &[]), Ok(()));
        let azure = [
            ("AZURE_STORAGE_ACCOUNT_NAME", "a"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "k"),
        ];
        assert_eq!(checked(Scheme::Azure, &azure, "", &[]), Ok(()));
        assert_eq!(checked(Scheme::Folder, &[], "", &[]), Ok(()));
    }

    #[test]
    fn keys_of_a_profile_are_read_from_awss_files() {
        let credentials = "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key = B\n[work]\naws_access_key_id=C\naws_secret_access_key = D=\naws_session_token = T\n[half]\naws_access_key_id = E\n";
        let config = "[default]\nregion = eu-north-1\n[profile work]\nregion = us-west-2\n";
        let read = |path: &Path| match path {
            path if path == Path::new("/h/.aws/credentials") => Some(credentials.to_string()),
            path if path == Path::new("/h/.aws/config") => Some(config.to_string()),
            _ => None,
        };
        let profile = |name: Option<&str>| {
            let variable = |key: &str| match key {
                "HOME" => Some("/h".to_string()),
                "AWS_PROFILE" => name.map(str::to_string),
                _ => None,
            };
            let environment = CredentialVariables {
                variable: &variable,
                read: &read,
                machine: "",
            };
            let found = aws_profile(&environment);
            assert_eq!(check(Scheme::S3, &environment).is_ok(), found.is_some());
            found.map(|found| (found.key_id, found.secret, found.token, found.region))
        };
        let some = |text: &str| Some(text.to_string());
        assert_eq!(
            profile(None),
            Some(("A".into(), "B".into(), None, some("eu-north-1")))
        );
        assert_eq!(
            profile(Some("work")),
            Some(("C".into(), "D=".into(), some("T"), some("us-west-2")))
        );
        assert_eq!(profile(Some("half")), None);
        assert_eq!(profile(Some("none")), None);
    }
}
