//! Which actions there are: those of the policy file, or one of flags.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use endow_policy::{
    Action, BuildRoot, Graph, GraphError, HostPath, InputPattern, MountSpec, Origin, Output,
    Policy, Remote, Stated, parse_duration,
};
use endow_vfs::cas::Digest;

use super::order::Allowance;
use super::rules::Rules;
use crate::cli::args::{BuildArgs, PolicyArgs};
use crate::cli::error::{CommandError, Kind, WITHOUT_POLICY};
use crate::cli::sources;
use crate::cli::sources::surroundings::Surroundings;

/// The name of the action that flags state.
const ONE: &str = "command";

/// What is to be built, and where.
pub(super) struct Wanted {
    /// The directory in which inputs and outputs are.
    pub(super) directory: PathBuf,
    /// All actions.
    pub(super) actions: Vec<Action>,
    /// The order of those that are wanted.
    pub(super) graph: Graph,
    /// What stands at `/` of each.
    pub(super) root: BuildRoot,
    /// How much the cache may hold, in bytes.
    pub(super) cache_bytes: u64,
    /// Where results are shared, as the policy states it.
    pub(super) remote: Option<Remote>,
    /// What the policy mounts.
    pub(super) mounts: Vec<MountSpec>,
    /// The directories of the project.
    pub(super) projects: Vec<HostPath>,
    /// Whether results are shared that depend on the host's programs.
    pub(super) shares_host_root: bool,
    /// What each action may use.
    pub(super) allowance: Allowance,
    /// What holds for files of the project, whoever states the actions.
    pub(super) rules: Rules,
}

impl Wanted {
    /// Returns the actions that are wanted.
    pub(super) fn chosen(&self) -> impl Iterator<Item = &Action> {
        self.graph.order().iter().filter_map(|number| self.actions.get(*number))
    }
}

/// Finds the actions that are asked for.
pub(super) fn wanted(
    args: &BuildArgs,
    surroundings: &Surroundings,
) -> Result<Wanted, CommandError> {
    let found = sources::read(&PolicyArgs::of_build(args.policy.clone()), surroundings, None);
    let found = found.map_err(without_strange_hints)?;
    let mut policy = found.policy;
    let (directory, actions) = if args.command.is_empty() {
        (project(args.policy.is_some(), surroundings), stated(&mut policy)?)
    } else {
        let cwd = surroundings.vars.cwd.as_path();
        (cwd.to_owned(), vec![one(args, cwd)?])
    };
    let graph = Graph::new(&actions, &args.names).map_err(|error| refused(&error));
    let graph = graph.map_err(|error| of_stated(args, error))?;
    let rules = Rules::of(&policy, &directory, surroundings)?;
    check_outputs(&actions, &rules).map_err(|error| of_stated(args, error))?;
    Ok(Wanted {
        directory,
        actions,
        graph,
        root: root(args, &policy)?,
        allowance: Allowance::of(&policy),
        cache_bytes: policy.state.cache_bytes,
        remote: policy.remote,
        mounts: policy.mounts,
        projects: endow_policy::projects(&surroundings.vars),
        shares_host_root: policy.share_host_root,
        rules,
    })
}

/// Checks the actions of a policy as a build of all of them does before it starts.
pub(crate) fn check_stated(
    policy: &Policy,
    is_named: bool,
    surroundings: &Surroundings,
) -> Result<(), CommandError> {
    if policy.actions.is_empty() {
        return Ok(());
    }
    Graph::new(&policy.actions, &[]).map_err(|error| refused(&error))?;
    let rules = Rules::of(policy, &project(is_named, surroundings), surroundings)?;
    check_outputs(&policy.actions, &rules)
}

fn check_outputs(actions: &[Action], rules: &Rules) -> Result<(), CommandError> {
    for Stated { value: output, origin, .. } in actions.iter().flat_map(|action| &action.outputs) {
        if let Some(why) = rules.refuses(output.path.as_str()) {
            let error = CommandError::new(Kind::Policy, "that can't be an output");
            return Err(error.about(why).cause(format!("asked for by {origin}")));
        }
    }
    Ok(())
}

/// What is wrong with an action is a mistake of the command line where that states it.
fn of_stated(args: &BuildArgs, error: CommandError) -> CommandError {
    if args.command.is_empty() { error } else { CommandError { kind: Kind::Usage, ..error } }
}

/// A build without a policy has no actions, so that none can be told to do without.
fn without_strange_hints(mut error: CommandError) -> CommandError {
    error.hints.retain(|hint| hint != WITHOUT_POLICY);
    error
}

/// Returns what stands at `/`: what the command line says, or the policy file.
fn root(args: &BuildArgs, policy: &Policy) -> Result<BuildRoot, CommandError> {
    if let Some(text) = &args.root {
        let cause = "write `sha256:HEX/SIZE`, as `endow cas put DIRECTORY` prints it";
        let tree: Digest = text.parse().map_err(|_| wrong("root", text, cause))?;
        return Ok(BuildRoot::Tree(tree.to_string()));
    }
    Ok(policy.build_root.as_ref().map(|it| it.value.clone()).unwrap_or_default())
}

/// The actions of a policy file.
fn stated(policy: &mut Policy) -> Result<Vec<Action>, CommandError> {
    let actions = std::mem::take(&mut policy.actions);
    if actions.is_empty() {
        let error = CommandError::new(Kind::Usage, "no action is stated");
        return Err(error
            .hint("write `[[action]]` tables into endow.toml")
            .hint("`endow build --input FILE --output FILE -- COMMAND` executes one command"));
    }
    Ok(actions)
}

/// The directory that paths of a policy file mean: where the project's file is, and of one that was named, or where
/// there is none, its work tree.
fn project(is_named: bool, surroundings: &Surroundings) -> PathBuf {
    let vars = &surroundings.vars;
    let project = if is_named {
        vars.git_root.as_ref().map(|root| root.as_path().to_owned())
    } else {
        sources::project_file(vars).and_then(|file| file.parent().map(Path::to_owned))
    };
    project.unwrap_or_else(|| vars.cwd.as_path().to_owned())
}

/// The action that the command line states.
fn one(args: &BuildArgs, cwd: &Path) -> Result<Action, CommandError> {
    let flag = |name: &str, text: &str| Origin::Flag(format!("--{name} {text}").into());
    let mut inputs = Vec::new();
    for text in &args.input {
        let pattern = InputPattern::parse(text).map_err(|error| wrong("input", text, error))?;
        inputs.push(Stated::new(pattern, flag("input", text)));
    }
    let mut outputs = Vec::new();
    for text in &args.output {
        let output = Output::parse(text).map_err(|error| wrong("output", text, error))?;
        outputs.push(Stated::new(output, flag("output", text)));
    }
    let tool = |path: &OsString| {
        let origin = Origin::Flag(format!("--tool {}", path.display()).into());
        Stated::new(cwd.join(path).into_os_string(), origin)
    };
    let timeout = args.timeout.as_ref().map(|text| {
        let time = parse_duration(text).map_err(|error| wrong("timeout", text, error))?;
        if time.is_zero() {
            return Err(wrong("timeout", text, "a limit of zero lets nothing run"));
        }
        Ok(time)
    });
    Ok(Action {
        name: ONE.to_owned(),
        command: words(&args.command)?,
        inputs,
        outputs,
        tools: args.tool.iter().map(tool).collect(),
        needs: Vec::new(),
        environment: variables(&args.env)?,
        timeout: timeout.transpose()?,
        is_cached: true,
        origin: Origin::Default,
    })
}

fn words(command: &[OsString]) -> Result<Vec<String>, CommandError> {
    let text = |word: &OsString| {
        word.clone().into_string().map_err(|word| {
            let error = CommandError::new(Kind::Usage, "not UTF-8").about(word.display());
            error.cause("a result is found by its command, which must be text")
        })
    };
    command.iter().map(text).collect()
}

fn variables(env: &[String]) -> Result<BTreeMap<String, String>, CommandError> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(wrong("env", text, "write NAME=VALUE: nothing is taken from outside")),
    };
    env.iter().map(pair).collect()
}

fn wrong(flag: &str, text: &str, cause: impl ToString) -> CommandError {
    let error = CommandError::new(Kind::Usage, format!("can't use --{flag}")).about(text);
    error.cause(cause)
}

fn refused(error: &GraphError) -> CommandError {
    let this = CommandError::naming(Kind::Policy, error, error.object().map(str::to_owned));
    match error {
        GraphError::Unknown { hint, origin, .. } => {
            let this = match origin {
                Some(origin) => this.cause(format!("needed by {origin}")),
                None => CommandError { kind: Kind::Usage, ..this },
            };
            this.hint(hint)
        }
        GraphError::Twice { first, .. } => this.hint(format!("the first is {first}")),
        GraphError::Outputs { names: [one, other], .. } if one == other => {
            this.hint("name each place once; what is in an output directory is a part of it")
        }
        GraphError::Outputs { .. } => this.hint("give one of them another place"),
        GraphError::Own { output, origin, .. } => this.cause(format!("asked for by {origin}")).hint(
            format!("what stands at the place of an output, `{output}`, is no input: leave it out, or give the output another place"),
        ),
        _ => this,
    }
}
