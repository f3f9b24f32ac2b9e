//! npm: its variables, the user's and the machine's `npmrc`, else what npm itself reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::address::Named;
use super::outside::Outside;
use crate::plan::registries::RegistryFault;

/// The settings of one source.
struct Layer {
    place: String,
    settings: Vec<(String, String)>,
}

/// Returns the registries of npm: the default one, and those of scopes.
pub(super) fn registries(outside: &Outside<'_>) -> Result<Vec<Named>, RegistryFault> {
    let variables = outside.environment().iter().filter_map(|(name, value)| {
        let (name, value) = (name.to_str()?, value.to_str()?);
        Some((setting(name)?, value.to_owned()))
    });
    let mut layers =
        vec![Layer { place: "npm_config_*".to_owned(), settings: variables.collect() }];
    let user = said(&layers, "userconfig").map(PathBuf::from).or_else(|| outside.home(".npmrc"));
    layers.extend(user.map(|path| layer(outside, &path)).transpose()?);
    let global = said(&layers, "globalconfig").map(PathBuf::from);
    let global = global.or_else(|| global_config(outside));
    layers.extend(global.map(|path| layer(outside, &path)).transpose()?);
    let mut registries = configured(&layers);
    if !registries.contains_key(DEFAULT) {
        registries.insert(DEFAULT.to_owned(), reported(outside)?);
    }
    Ok(registries.into_values().collect())
}

/// The setting that names the default registry.
const DEFAULT: &str = "registry";

fn layer(outside: &Outside<'_>, path: &Path) -> Result<Layer, RegistryFault> {
    let text = outside.text(path)?.unwrap_or_default();
    let variable = |name: &str| outside.text_variable(name);
    let settings = settings(&text).into_iter().map(|(key, value)| (key, expand(&value, variable)));
    Ok(Layer { place: path.display().to_string(), settings: settings.collect() })
}

/// npm's machine-wide file, which lies beside the node that runs it.
fn global_config(outside: &Outside<'_>) -> Option<PathBuf> {
    let prefix = outside.variable("PREFIX").map(PathBuf::from);
    let prefix = prefix.or_else(|| {
        let node = outside.look(&outside.program("node").ok()?).ok()??;
        node.resolved.as_path().parent()?.parent().map(Path::to_owned)
    });
    prefix.map(|prefix| prefix.join("etc/npmrc")).filter(|path| path.is_absolute())
}

/// Keeps npm from making a cache in the home, and writing a log there.
const NO_CACHE: &str = "--cache=/dev/null/npm";

fn reported(outside: &Outside<'_>) -> Result<Named, RegistryFault> {
    let npm = outside.program("npm")?;
    let lines = outside.ask(&npm, &["config", "get", DEFAULT, NO_CACHE])?;
    let address = lines.into_iter().next_back().unwrap_or_default();
    if address.contains("://") {
        Ok(Named::new(npm.display(), address))
    } else {
        Err(RegistryFault::NoAddress { place: npm.display().to_string() })
    }
}

/// Returns the setting that a variable makes.
fn setting(variable: &str) -> Option<String> {
    const PREFIX: &str = "npm_config_";
    let start = variable.get(..PREFIX.len())?;
    let name = variable.get(PREFIX.len()..)?;
    start.eq_ignore_ascii_case(PREFIX).then(|| name.to_ascii_lowercase().replace('_', "-"))
}

fn said(layers: &[Layer], key: &str) -> Option<String> {
    let settings = layers.iter().flat_map(|layer| layer.settings.iter().rev());
    let mut values = settings.filter(|(name, value)| name == key && !value.is_empty());
    values.next().map(|(_, value)| value.clone())
}

/// Returns each registry that layers name, strongest first, by its setting.
fn configured(layers: &[Layer]) -> BTreeMap<String, Named> {
    let mut registries = BTreeMap::new();
    for Layer { place, settings } in layers {
        for (key, value) in settings.iter().rev() {
            let is_scope = key.starts_with('@') && key.ends_with(":registry");
            if (key == DEFAULT || is_scope) && !value.is_empty() {
                registries.entry(key.clone()).or_insert_with(|| Named::new(place, value));
            }
        }
    }
    registries
}

/// Reads an `npmrc`: settings of sections and lists are none of npm's registries.
fn settings(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with('['));
    let lines = lines.filter(|line| !line.starts_with([';', '#']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (unquote(key.trim()), unquote(value.trim()))).collect()
}

/// Takes quotes away, and without them a comment.
fn unquote(text: &str) -> String {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.to_owned();
        }
    }
    text.split([';', '#']).next().unwrap_or_default().trim().to_owned()
}

/// Puts variables in the place of `${NAME}`; what is not set stays as it is written.
fn expand(text: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let mut parts = text.split("${");
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let value = part.split_once('}').and_then(|(name, after)| Some((variable(name)?, after)));
        let (value, after) = value.unwrap_or_else(|| ("${".to_owned(), part));
        expanded.extend([value.as_str(), after]);
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::super::outside::testing::{Host, told};
    use super::*;

    /// Checks the hosts, or the fault.
    fn check(host: &Host, expected: Result<&[&str], &str>) {
        let found = told(registries(&host.outside()));
        let expected = expected.map_err(str::to_owned);
        assert_eq!(found, expected.map(|hosts| hosts.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn settings_of_an_npmrc() {
        let text = "; a comment\n# another\n registry = https://a.example/ ; mirror\n\
            @scope:registry=\"https://b.example/\"\n//a.example/:_authToken=secret\nflag\n=x\n\
            ca[]=x\n[section]\nregistry=https://evil.example/\n";
        let found: Vec<(String, String)> = settings(text);
        let expected = [
            ("registry", "https://a.example/"),
            ("@scope:registry", "https://b.example/"),
            ("//a.example/:_authToken", "secret"),
            ("", "x"),
            ("ca[]", "x"),
        ];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn settings_of_any_bytes_are_read() {
        for text in ["", "=", "\"", "'=\"", "a=\"\n", "\0=\0", "${=${", "[", "a=[\nb=c"] {
            drop(settings(text));
            assert_eq!(expand(text, |_| None), text);
        }
        assert_eq!(expand("${A}/${B}${", |name| (name == "A").then(|| "x".into())), "x/${B}${");
    }

    #[test]
    fn users_file_names_the_registry() {
        let host = Host::new();
        host.write("home/.npmrc", "registry=https://npm.example.com/a/\n");
        check(&host, Ok(&["npm.example.com:443"]));
    }

    #[test]
    fn scopes_stand_beside_the_default() {
        let mut host = Host::new();
        host.write("home/.npmrc", "@a:registry=https://a.example/\n@b:registry=https://b.example");
        host.write(
            "usr/etc/npmrc",
            "registry=http://all.example:4873\n@b:registry=https://c.example",
        );
        host.program("usr/bin/node", "");
        host.set("PATH", host.path("usr/bin"));
        check(&host, Ok(&["a.example:443", "b.example:443", "all.example:4873"]));
    }

    #[test]
    fn variables_are_stronger_than_files() {
        let mut host = Host::new();
        host.write("home/.npmrc", "registry=https://file.example/\n");
        host.write("elsewhere", "registry=https://${MIRROR}/\n");
        host.set("NPM_CONFIG_USERCONFIG", host.path("elsewhere"));
        host.set("MIRROR", "other.example");
        check(&host, Ok(&["other.example:443"]));
        host.set("Npm_Config_Registry", "https://user:secret@variable.example:8443/x");
        check(&host, Ok(&["variable.example:8443"]));
    }

    #[test]
    fn npm_reports_what_nobody_configured() {
        let host = Host::new();
        check(&host, Err("no configuration names a registry, and npm is not installed"));
        host.program(
            "bin/npm",
            "test \"$*\" = 'config get registry --cache=/dev/null/npm' && echo https://d.example/",
        );
        check(&host, Ok(&["d.example:443"]));
        host.write("home/.npmrc", "@a:registry=https://a.example/\n");
        check(&host, Ok(&["a.example:443", "d.example:443"]));
        host.program("bin/npm", "echo undefined");
        let place = host.path("bin/npm").display().to_string();
        check(&host, Err(&format!("not the address of a registry: {place}")));
    }

    #[test]
    fn secrets_are_in_no_fault() {
        let host = Host::new();
        host.write("home/.npmrc", "registry=https://user:secret@\n");
        let place = host.path("home/.npmrc").display().to_string();
        check(&host, Err(&format!("not the address of a registry: {place}")));
    }
}
