//! What a command leaves in a copy, to do harm when it is written back.

use super::attack::{Control::*, Group, PLAIN, Proof, Together};
use super::kinds::COPIES;

const NOT_LEFT: &[&str] = &["absent"];

attacks! {
    Group { probe: include_str!("probes/leave.py"), proof: Proof::Left, kinds: COPIES, together: Together::Nowhere, ..PLAIN };
    set_user_id: "a program with the set-user-id bit", Succeeds, NOT_LEFT;
    set_group_id: "a program with the set-group-id bit", Succeeds, NOT_LEFT;
    mode_of_old: "the bit on a file that was there", Succeeds, NOT_LEFT;
    pipe: "a pipe", Succeeds, NOT_LEFT;
    socket: "a socket", Succeeds, NOT_LEFT;
    device: "a device", AsRoot, NOT_LEFT;
    whiteout: "a device 0:0, which marks a name of a layer as removed", Succeeds, NOT_LEFT;
    link_absolute: "a link with a whole path out of the workspace", Succeeds, NOT_LEFT;
    link_up: "a link that leads up and out", Succeeds, NOT_LEFT;
    link_by_way_of_a_name: "a link that goes back up after a name", Succeeds, NOT_LEFT;
    directory_to_link: "a link in the place of a directory, and a file written through it", Succeeds, NOT_LEFT;
    link_to_directory: "a link, later a directory with the same name, below another link", Succeeds, NOT_LEFT;
    hidden_replaced: "a hidden file removed and made anew", Succeeds, NOT_LEFT;
    hidden_by_parent: "the directory of a hidden file renamed, and made anew", Succeeds, NOT_LEFT;
    opaque_mark: "an attribute that marks a directory as replaced", Succeeds, NOT_LEFT;
    redirect_mark: "an attribute that says where a directory's content is", Succeeds, NOT_LEFT;
    hook: "a hook of git in a directory that is renamed afterwards", Succeeds, NOT_LEFT;
}
