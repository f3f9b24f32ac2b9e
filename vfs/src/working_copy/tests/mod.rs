//! Working copies in real overlays, changed by real git, against what git makes of them.

mod broken;
mod edits;
mod history;
mod hostile_directory;
mod hostile_objects;
mod ignored;
mod index;
mod land;
mod random;
mod references;
mod shallow;
mod size;
mod sparse;
mod whole;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::*;
use crate::fs::OsFs;
use crate::git_tree::{Algorithm, GitError, Id, Places, Repository};
use crate::testing::{Scratch, git, in_user_namespace};

/// What stands before each script: git without anybody's configuration.
const BEGIN: &str = "set -e; export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null HOME=/ \
    GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.invalid GIT_COMMITTER_NAME=t \
    GIT_COMMITTER_EMAIL=t@example.invalid\n";
/// The tree that `git add -A` makes of the work tree, with what `HEAD` has as tracked too.
const ADDED: &str = "\ncd ../merged\nexport GIT_INDEX_FILE=../index GIT_OBJECT_DIRECTORY=../objects \
    GIT_ALTERNATE_OBJECT_DIRECTORIES=$PWD/.git/objects\n\
    (unset GIT_INDEX_FILE; git ls-files -s -z | grep -az '^[0-7]* [0-9a-f]* 0' || :) > ../tracked\n\
    rm -f ../index; git read-tree HEAD\n\
    git update-index -z --replace --index-info < ../tracked\n\
    git add -A 2> ../added; git write-tree\n";

/// A host's repository, and a copy-on-write working copy of its `HEAD`.
struct World {
    scratch: Scratch,
    repository: Repository,
    base: Id,
    references: BTreeMap<String, Id>,
}

impl World {
    /// Makes a repository by a shell script, which commits nothing itself.
    fn new(algorithm: Algorithm, script: &str) -> Self {
        let scratch = Scratch::new();
        for name in ["host", "lower", "upper", "work", "merged", "staging", "objects"] {
            fs::create_dir(scratch.path().join(name)).expect("made");
        }
        let made = format!(
            "{BEGIN}cd host; git init -q -b main --object-format={algorithm} .\n{script}\n\
             git add -A; git commit -q --allow-empty -m first; git rev-parse HEAD"
        );
        let base = in_user_namespace(scratch.path(), &made);
        let base: Id = base.lines().last().expect("a line").parse().expect("an id");
        let repository = Repository::open(&scratch.path().join("host")).expect("a repository");
        let references = repository.references(1000).expect("references");
        let world = Self { scratch, repository, base, references };
        world.show();
        world.begin(&world.repository.head().expect("a head"));
        world
    }

    fn small(script: &str) -> Self {
        Self::new(Algorithm::Sha1, script)
    }

    /// Makes the tree that the command sees, as the cache has it.
    fn show(&self) {
        let script = "cd host; export GIT_INDEX_FILE=../index; git read-tree HEAD\n\
            git checkout-index -a --prefix=../lower/; rm ../index\n\
            find ../lower -exec touch -h -d @1321009869 {} +";
        in_user_namespace(self.path(), script);
        let tree = self.repository.resolve("HEAD").expect("a tree").tree;
        write_index(&OsFs, self.open("lower").as_fd(), &self.repository, &tree).expect("written");
    }

    fn begin(&self, head: &crate::git_tree::Head) {
        let start = Start {
            algorithm: self.repository.algorithm(),
            head,
            references: &self.references,
            borrowed: &[self.path().join("host/.git/objects")],
            exclude: b"*.excluded\n",
            shallow: &self.repository.shallow().expect("a list"),
        };
        make(&OsFs, self.open("upper").as_fd(), &start).expect("made");
    }

    fn path(&self) -> &Path {
        self.scratch.path()
    }

    fn open(&self, name: &str) -> File {
        File::open(self.path().join(name)).expect("opened")
    }

    /// Runs a script in the working copy, as the command.
    fn run(&self, script: &str) -> String {
        let mount = "mount -t overlay overlay -o \
            userxattr,lowerdir=lower,upperdir=upper,workdir=work merged; cd merged\n";
        in_user_namespace(self.path(), &format!("{BEGIN}{mount}{script}"))
    }

    /// Runs a script, and returns the tree that git would commit then.
    fn run_and_add(&self, script: &str) -> String {
        let said = self.run(&format!("{script}\n{ADDED}"));
        said.lines().last().expect("a tree").to_owned()
    }

    fn guest(&self) -> Option<Repository> {
        let git = self.path().join("upper/.git");
        // One that was removed leaves a whiteout.
        git.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
        Some(self.open_guest().expect("a git directory"))
    }

    fn open_guest(&self) -> Result<Repository, GitError> {
        let (root, git) = (self.path().join("upper"), self.path().join("upper/.git"));
        let objects = vec![git.join("objects")];
        let places = Places { root, git: [git.clone(), git], objects };
        Repository::open_like(&places, &self.repository)
    }

    fn capture(&self) -> Result<Captured, CopyError> {
        self.capture_with(Taken::Unignored)
    }

    fn capture_with(&self, ignored: Taken) -> Result<Captured, CopyError> {
        self.capture_of(self.guest().as_ref(), ignored)
    }

    fn capture_without_guest(&self) -> Captured {
        self.capture_of(None, Taken::Unignored).expect("captured")
    }

    fn capture_of(
        &self,
        guest: Option<&Repository>,
        ignored: Taken,
    ) -> Result<Captured, CopyError> {
        let (upper, staging) = (self.open("upper"), self.open("staging"));
        let source = self.source((&upper, &staging), guest, ignored);
        capture(&OsFs, &source)
    }

    fn source<'a>(
        &'a self,
        (upper, staging): (&'a File, &'a File),
        guest: Option<&'a Repository>,
        ignored: Taken,
    ) -> Source<'a> {
        Source {
            upper: upper.as_fd(),
            staging: staging.as_fd(),
            host: &self.repository,
            guest,
            base: self.base,
            references: &self.references,
            ignored,
            author: "endow <endow@example.invalid>",
            time: 1_700_000_000,
            message: "what was not committed",
        }
    }

    /// Puts what was captured into the host's repository, which is whole then and else the same.
    fn land(&self, captured: &Captured) {
        let before = self.host_files();
        let (staging, host) = (self.open("staging"), self.open("host/.git"));
        let landed = land_objects(&OsFs, staging.as_fd(), self.open("host/.git/objects").as_fd());
        assert_eq!(landed.expect("landed"), captured.objects);
        let name = "refs/endow/run";
        let put = put_reference(&OsFs, host.as_fd(), name, (None, &captured.tip));
        assert_eq!(put.expect("put"), Landed::Now);
        let mut after = self.host_files();
        assert_eq!(
            after.remove(Path::new(name)).expect("the reference"),
            format!("{}\n", captured.tip).as_bytes()
        );
        assert_eq!(before, after);
        self.fsck();
    }

    fn fsck(&self) {
        let said = self.git(&["fsck", "--full", "--strict", "--no-dangling"]);
        assert_eq!(said, "", "git fsck");
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.path().join("host"), args).trim_end().to_owned()
    }

    /// Every file of the host's git directory but its objects.
    fn host_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let git = self.path().join("host/.git");
        let (mut files, mut wanted) = (BTreeMap::new(), vec![git.clone()]);
        while let Some(directory) = wanted.pop() {
            let entries = fs::read_dir(directory).expect("listed");
            let paths = entries.map(|entry| entry.expect("an entry").path());
            let (directories, others): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
            wanted.extend(directories.into_iter().filter(|it| !it.ends_with(".git/objects")));
            files.extend(others.into_iter().map(|path| {
                let content = fs::read(&path).expect("read");
                (path.strip_prefix(&git).expect("below").to_owned(), content)
            }));
        }
        files
    }

    /// Runs a script, and checks that what is captured is what git would commit.
    fn check(&self, script: &str) -> Captured {
        let expected = self.run_and_add(script);
        self.check_is(script, &expected)
    }

    /// What `git add` complained about in `run_and_add`.
    fn said_by_add(&self) -> String {
        fs::read_to_string(self.path().join("added")).expect("read")
    }

    /// Checks that what is captured is the tree that git would commit.
    fn check_is(&self, script: &str, expected: &str) -> Captured {
        let captured = self.capture().expect("captured");
        self.land(&captured);
        let tree = self.git(&["rev-parse", &format!("{}^{{tree}}", captured.tip)]);
        let differs = self.differences(&tree, expected);
        assert!(differs.is_empty(), "{script}: {differs}");
        let head = self.git(&["rev-parse", &format!("{}^{{tree}}", self.guest_head())]);
        assert_eq!(captured.is_made, head != expected, "{script}");
        captured
    }

    /// What git says that two trees differ by, the second of which it wrote elsewhere.
    fn differences(&self, tree: &str, expected: &str) -> String {
        if tree == expected {
            return String::new();
        }
        let script =
            "cd host; export GIT_ALTERNATE_OBJECT_DIRECTORIES=../objects; git diff-tree -r";
        in_user_namespace(self.path(), &format!("{script} {expected} {tree}; echo differs"))
    }

    /// The commit that the command's `HEAD` names, or that of the start.
    fn guest_head(&self) -> String {
        let head = self.guest().and_then(|guest| guest.head().ok()?.commit);
        head.unwrap_or(self.base).to_string()
    }
}

fn paths(list: &[PathBuf]) -> Vec<&str> {
    list.iter().map(|path| path.to_str().expect("a text")).collect()
}

fn refused(captured: &Captured) -> Vec<&str> {
    let refused = captured.refused.iter().map(|it| it.path.to_str().expect("a text"));
    let mut refused: Vec<&str> = refused.collect();
    refused.sort_unstable();
    refused
}
