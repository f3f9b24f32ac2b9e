//! What settings of git can do, by their names (git-config(1)). No section is harmless as a whole:
//! `gc.recentObjectsHook` came with git 2.42, beside numbers and dates.

use super::truth::is_on;

/// Sections, with `*` for their subsections, and keys of each; `*` for all.
pub(super) type Table = &'static [(&'static str, &'static str)];

/// Keys that run nothing and lead nowhere, whatever they say. None says how texts are put together: `rebase.instructionFormat`
/// writes lines that git executes, as `rebase.updateRefs` does with names that anybody may give. Nor does one say
/// where else something goes, or in which form a server takes it (`remote.*.push`, `push.pushOption`, `format.to`).
#[rustfmt::skip]
pub(super) const HARMLESS: Table = &[
    (
        "advice",
        "addembeddedrepo addemptypathspec addignoredfile ambiguousfetchrefspec amworkdir \
         checkoutambiguousremotebranchname commitbeforemerge defaultbranchname detachedhead \
         diverging fetchshowforcedupdates forcedeletebranch graftfiledeprecated ignoredhook \
         implicitidentity mergeconflict nestedtag objectnamewarning pushalreadyexists \
         pushfetchfirst pushneedsforce pushnonfastforward pushnonffcurrent \
         pushnonffmatching pushrefneedsupdate pushunqualifiedrefname pushupdaterejected \
         rebasetodoerror refsyntax resetnorefresh resolveconflict rmhints sequencerinuse \
         setupstreamfailure skippedcherrypicks sparseindexexpanded statusaheadbehindwarning \
         statushints statusuoption submodulealternateerrorstrategydie \
         submodulemergeconflict submodulesnotupdated suggestdetachinghead updatesparsepath \
         waitingforeditor worktreeaddorphan",
    ),
    ("author", "email name"),
    ("checkout", "defaultremote guess thresholdforparallelism workers"),
    ("clean", "requireforce"),
    (
        "color",
        "advice branch diff grep interactive pager push remote showbranch status transport \
         ui",
    ),
    ("column", "branch clean status tag ui"),
    ("committer", "email name"),
    ("feature", "experimental manyfiles"),
    (
        "fetch",
        "all fsckobjects negotiationalgorithm output parallel prune prunetags \
         recursesubmodules showforcedupdates unpacklimit writecommitgraph",
    ),
    (
        "format",
        "attach coverfromdescription coverletter encodeemailheaders filenamemaxlength \
         forceinbodyfrom from mboxrd noprefix notes numbered signature signoff subjectprefix \
         thread useautobase",
    ),
    (
        "gc",
        "aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold \
         cruftpacks logexpiry maxcruftsize packrefs pruneexpire reflogexpire \
         reflogexpireunreachable rerereresolved rerereunresolved worktreepruneexpire \
         writecommitgraph",
    ),
    ("index", "recordendofindexentries recordoffsettable skiphash sparse threads version"),
    (
        "log",
        "abbrevcommit decorate diffmerges excludedecoration follow graphcolors \
         initialdecorationset mailmap showroot showsignature",
    ),
    ("maintenance", "auto autodetach strategy"),
    ("notes", "displayref mergestrategy rewritemode rewriteref"),
    (
        "pack",
        "allowpackreuse compression deltacachelimit deltacachesize depth indexversion \
         island islandcore packsizelimit preferbitmaptips readreverseindex threads \
         usebitmapboundarytraversal usebitmaps usesparse window windowmemory \
         writebitmaphashcache writebitmaplookuptable writereverseindex",
    ),
    ("pull", "ff rebase"),
    (
        "push",
        "autosetupremote default followtags gpgsign negotiate recursesubmodules usebitmaps \
         useforceifincludes",
    ),
    (
        "rebase",
        "abbreviatecommands autosquash autostash backend forkpoint maxlabellength \
         missingcommitscheck rebasemerges reschedulefailedexec stat",
    ),
    (
        "repack",
        "cruftdepth cruftthreads cruftwindow cruftwindowmemory midxmustcontaincruft \
         packkeptobjects updateserverinfo usedeltabaseoffset usedeltaislands writebitmaps",
    ),
    ("rerere", "autoupdate enabled"),
    (
        "status",
        "aheadbehind branch displaycommentprefix relativepaths renamelimit renames short \
         showstash showuntrackedfiles submodulesummary",
    ),
    ("tag", "forcesignannotated gpgsign sort"),
    (
        "transfer",
        "advertiseobjectinfo advertisesid credentialsinurl fsckobjects hiderefs unpacklimit",
    ),
    ("user", "email name signingkey useconfigonly"),
    ("versionsort", "suffix"),
    ("worktree", "guessremote userelativepaths"),
    ("branch.*", "autosetuprebase description merge rebase"),
    ("branch", "autosetupmerge autosetuprebase sort"),
    ("commit", "cleanup status verbose gpgsign"),
    (
        "core",
        "abbrev autocrlf bare bigfilethreshold checkstat compression eol filemode ignorecase \
         logallrefupdates longpaths precomposeunicode preloadindex quotepath \
         repositoryformatversion safecrlf splitindex symlinks trustctime untrackedcache whitespace",
    ),
    ("diff", "algorithm colormoved context indentheuristic mnemonicprefix noprefix renames"),
    (
        "extensions",
        "compatobjectformat noop preciousobjects relativeworktrees worktreeconfig",
    ),
    ("init", "defaultbranch"),
    ("lfs", "repositoryformatversion"),
    ("lfs.*", "access locksverify"),
    ("merge", "conflictstyle ff log renames stat"),
    (
        "remote.*",
        "fetch followremotehead partialclonefilter promisor prune prunetags skipdefaultupdate \
         skipfetchall tagopt",
    ),
    ("submodule.*", "active branch fetchrecursesubmodules ignore path shallow"),
    ("submodule", "active fetchjobs recurse"),
];

/// Tells whether a value is harmless.
type Judge = fn(&str) -> bool;

/// Keys that are harmless with some values.
const BY_VALUE: [(&str, Judge); 7] = [
    // Anybody may change what others have of the repository.
    ("core.sharedrepository", |value| {
        ["umask", "false", "no", "off", "0"].iter().any(|it| value.eq_ignore_ascii_case(it))
    }),
    // Without them a tree may have a `.git` of another spelling.
    ("core.protecthfs", is_on),
    ("core.protectntfs", is_on),
    // It begins lines of which git takes others for commands.
    ("core.commentchar", |value| {
        value == "auto" || value.len() == 1 && value.bytes().all(|it| it.is_ascii_punctuation())
    }),
    // The name of a form, none of one's own.
    ("log.date", |value| {
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-:".contains(&byte))
    }),
    // By the length of ids git reads an index in another way.
    ("extensions.objectformat", |value| value == "sha1"),
    ("extensions.refstorage", |value| ["files", "reftable"].contains(&value)),
];

/// Returns whether a key, without a subsection, is harmless with this value; one without a value means true.
pub(super) fn is_plain((section, key): (&str, &str), value: Option<&[u8]>) -> bool {
    let name = format!("{section}.{key}");
    let value = value.map_or(Some("true"), |value| std::str::from_utf8(value).ok());
    let known = BY_VALUE.iter().find(|(known, _)| *known == name);
    known.zip(value).is_some_and(|((_, is_plain), value)| is_plain(value))
}

/// Keys by which programs run: those with `*` are of its subsections. The values of some are
/// programs, of others files with settings or programs.
pub(super) const RUNS: Table = &[
    (
        "core",
        "alternaterefscommand askpass attributesfile editor fsmonitor gitproxy hookspath pager \
         sshcommand worktree",
    ),
    ("sequence", "editor"),
    // A new line of it is a command of the list.
    ("rebase", "instructionformat"),
    ("gpg", "program"),
    ("gpg.*", "program defaultkeycommand"),
    ("diff", "external"),
    ("diff.*", "command textconv"),
    ("filter.*", "clean smudge process"),
    ("merge.*", "driver"),
    ("mergetool.*", "cmd path"),
    ("difftool.*", "cmd path"),
    ("guitool.*", "cmd"),
    ("browser.*", "cmd path"),
    ("man.*", "cmd path"),
    ("pager", "*"),
    ("include", "*"),
    ("includeif.*", "*"),
    ("interactive", "difffilter"),
    ("init", "templatedir"),
    ("remote.*", "uploadpack receivepack vcs proxy"),
    ("uploadpack", "packobjectshook"),
    ("gc", "recentobjectshook"),
    // A strategy is a program `git-merge-NAME`.
    ("pull", "octopus twohead"),
    ("trailer.*", "command cmd"),
    ("tar.*", "command"),
    ("protocol", "allow"),
    ("protocol.*", "allow"),
    ("sendemail", "sendmailcmd tocmd cccmd headercmd smtpserver"),
    ("sendemail.*", "sendmailcmd tocmd cccmd headercmd smtpserver"),
    ("instaweb", "httpd browser"),
    ("web", "browser"),
    ("help", "browser"),
    ("hook.*", "command"),
    ("lfs", "customtransfer standalonetransferagent"),
    // `lfs.customtransfer.NAME.path` and `lfs.extension.NAME.clean`: the dot is in the subsection.
    ("lfs.*", "path args clean smudge"),
];
