//! Objects that a command adds to a repository: git hashes none that it reads, so each is looked at before.

use std::fs;

use crate::harness::{World, said};

const WHO: &str = "-c user.name=t -c user.email=t@example.com";
/// A false object is told by this.
const TOLD: &str = "held for review: ";

/// A repository with one commit.
fn repository() -> World {
    let world = World::new();
    let script = format!(
        "git init -q -b main . && echo one >one && git add . && git {WHO} commit -qm first"
    );
    world.bare(&script).ok();
    world
}

fn git(world: &World, arguments: &str) -> String {
    world.bare(&format!("git {WHO} {arguments}")).ok().trim_end().to_owned()
}

fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits");
    (0..20).map(byte).collect()
}

/// Makes a pack whose index gives a blob other bytes, with all checksums right; returns a script that puts it into the
/// repository.
fn false_pack(world: &World, victim: &str) -> String {
    let other = "mkdir made && git init -q ../other && cd ../other && echo evil | git hash-object -w --stdin \
        | git pack-objects -q ../project/made/pack";
    let name = world.bare(other).ok().trim().to_owned();
    let path = world.project().join(format!("made/pack-{name}.idx"));
    let (mut index, id) = (fs::read(&path).expect("an index"), bytes(victim));
    for first in 0..256 {
        index[8 + 4 * first + 3] = u8::from(first >= usize::from(id[0]));
    }
    index[8 + 1024..][..20].copy_from_slice(&id);
    index.truncate(index.len() - 20);
    fs::remove_file(&path).and_then(|()| fs::write(&path, &index)).expect("written");
    index.extend(bytes(world.bare(&format!("sha1sum <made/pack-{name}.idx")).ok()));
    fs::write(&path, index).expect("written");
    format!("cp made/pack-{name}.pack made/pack-{name}.idx .git/objects/pack")
}

/// Returns a script that puts the content `evil` in the place of an object that nobody has yet.
fn false_object(victim: &str) -> String {
    let (first, rest) = victim.split_at(2);
    format!(
        "id=$(echo evil | git hash-object -w --stdin); mkdir -p .git/objects/{first} && \
         cp .git/objects/$(echo $id | sed 's,^..,&/,') .git/objects/{first}/{rest}"
    )
}

#[test]
fn false_pack_is_held_with_all_that_may_name_its_objects() {
    let attack = |world: &World| false_pack(world, &git(world, "rev-parse HEAD:one"));
    let control = repository();
    control.bare(&attack(&control)).ok();
    assert_eq!(git(&control, "cat-file -p HEAD:one"), "evil", "the control");
    let world = repository();
    let script = format!("{}; git {WHO} commit -q --allow-empty -m second", attack(&world));
    let said = world.run(&[], &script);
    assert!(said.stderr.contains(TOLD) && said.stderr.contains("objects/pack"), "{}", said.stderr);
    assert_eq!(git(&world, "cat-file -p HEAD:one"), "one");
    assert_eq!(git(&world, "log --format=%s"), "first", "{}", said.stderr);
    assert_eq!(git(&world, "fsck --strict --no-dangling 2>&1"), "");
}

#[test]
fn false_object_is_held() {
    let victim = |world: &World| {
        world.bare("echo reviewed | git hash-object --stdin").ok().trim().to_owned()
    };
    let comes_out = "echo reviewed >new && git add new && git cat-file -p :new";
    let control = repository();
    control.bare(&false_object(&victim(&control))).ok();
    assert_eq!(control.bare(comes_out).ok(), "evil\n", "the control");
    let world = repository();
    let said = world.run(&[], &false_object(&victim(&world)));
    assert!(said.stderr.contains(TOLD), "{}", said.stderr);
    assert_eq!(world.bare(comes_out).ok(), "reviewed\n");
    assert_eq!(git(&world, "fsck --strict --no-dangling 2>&1"), "");
}

/// All that writes objects arrives as it is, and what git makes from them it makes anew.
#[test]
fn honest_objects_arrive() {
    let world = repository();
    let outside = "git clone -q --bare . up.git && git -C up.git config uploadpack.allowFilter true \
        && git clone -q --filter=blob:none \"file://$PWD/up.git\" part && git remote add up up.git";
    world.bare(outside).ok();
    let git_as = format!("git {WHO}");
    let inside = format!(
        "set -e; for at in 1 2 3 4; do seq 1 $((at * 400)) >one; {git_as} commit -qam $at; done
        {git_as} commit -q --amend -m amended; echo work >>one; {git_as} stash -q; git push -q up main
        git clone -q --no-hardlinks . copy; git repack -adbq; {git_as} commit -q --allow-empty -m last; git gc -q --prune=now
        git -C up.git repack -adbq; git -C up.git gc -q --prune=now; git multi-pack-index write
        cd part; git -c fetch.unpackLimit=1 fetch -q; git fsck --connectivity-only"
    );
    let said = world.run(&[], &inside);
    said.ok();
    assert!(!said.stderr.contains("objects"), "{}", said.stderr);
    assert_eq!(git(&world, "log --format=%s"), "last\namended\n3\n2\n1\nfirst");
    assert_eq!(git(&world, "stash list --format=%gd"), "stash@{0}");
    for repository in [".", "up.git", "copy", "part"] {
        let found = git(&world, &format!("-C {repository} fsck --strict --no-dangling 2>&1"));
        assert_eq!(found, "", "{repository}: {}", said.stderr);
    }
    assert_eq!(git(&world, "-C up.git log -1 --format=%s main"), "amended");
    assert_eq!(git(&world, "-C part log -1 --format=%s origin/main"), "amended");
    let promised = "find part/.git/objects/pack -name '*.promisor' | wc -l";
    assert_eq!(world.bare(promised).ok().trim(), "3");
    let made = "find .git up.git part/.git -name '*.bitmap' -o -name 'multi-pack-index'";
    assert_eq!(world.bare(made).ok(), "");
    git(&world, "gc -q --prune=now");
}

/// What the run put in the place of packs may wait; the host's stay then, wherever they are.
#[test]
fn objects_of_the_host_stay_while_others_wait() {
    let world = repository();
    let before = format!(
        "git init -q up && cd up && echo up >up && git add up && git {WHO} commit -qm up && cd .. && \
         git clone -q --bare up b.git && git -C b.git repack -adq && \
         git -c protocol.file.allow=always submodule --quiet add ./up s && git {WHO} commit -qm s && \
         git -C s repack -adq"
    );
    world.bare(&before).ok();
    let gone =
        "for it in b.git .git/modules/s; do rm -f $it/objects/pack/*; rm -rf $it/objects/??; done";
    world.run(&[], gone);
    world.bare("git -C b.git fsck --strict && git -C s fsck --strict && git -C s status").ok();
}

/// A superproject names its submodules' commits, and git outside reads what it finds for these.
#[test]
fn repository_does_not_take_the_place_of_what_leads_to_another() {
    let script = "id=$(git -C s rev-parse HEAD); rm s/.git; git init -q s; cd s; git hash-object -t commit -w --stdin </dev/null; \
        echo $id >.git/HEAD";
    let world = repository();
    let before = format!(
        "git init -q ../up && git -C ../up {WHO} commit -q --allow-empty -m up && \
         git -c protocol.file.allow=always submodule --quiet add ../up s && git {WHO} commit -qm s"
    );
    world.bare(&before).ok();
    let said = world.run(&[], script);
    assert!(said.stderr.contains(TOLD), "{said:?}");
    assert_eq!(world.bare("test -f s/.git && git -C s log --format=%s").ok(), "up\n");
}

/// What stands beside a directory of that name makes no repository of it.
#[test]
fn objects_of_a_project_are_shown_and_written_back() {
    let world = World::new();
    let outside = "for it in . src; do mkdir -p $it/objects $it/config $it/refs && echo old >$it/objects/a.py && \
        echo x >$it/objects/gone && echo x >$it/config/c && echo x >$it/index || exit 1; done";
    world.bare(outside).ok();
    let inside = "for it in . src; do echo new >$it/objects/a.py; rm $it/objects/gone; echo n >$it/objects/new; done";
    world.run(&["run", "--sync", "review", "--name", "it"], inside).ok();
    let shown = said(&mut world.endow(["diff", "it"]));
    for path in
        ["objects/a.py", "objects/gone", "objects/new", "src/objects/a.py", "src/objects/gone"]
    {
        assert!(shown.ok().contains(path), "{path}: {}", shown.stdout);
    }
    said(&mut world.endow(["apply", "it"])).ok();
    let found = world.bare("cat objects/* src/objects/*");
    assert_eq!(found.ok(), "new\nn\nnew\nn\n");
}
