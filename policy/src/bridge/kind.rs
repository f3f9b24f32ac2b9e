//! What a bridge leads to, and the programs that stand for it inside.

/// What is done outside for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BridgeKind {
    /// URLs are opened by the user's browser.
    Browser,
    /// Text becomes the clipboard's content.
    Clipboard,
    /// Text is shown as a notification.
    Notify,
}

impl BridgeKind {
    /// All of them, in the order of the documents.
    pub const ALL: &[Self] = &[Self::Browser, Self::Clipboard, Self::Notify];

    /// Returns the kind as it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Clipboard => "clipboard",
            Self::Notify => "notify",
        }
    }

    /// Returns the names under which programs inside look for it, the usual one first.
    pub const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Browser => &["xdg-open", "x-www-browser", "sensible-browser"],
            Self::Clipboard => &["wl-copy", "xclip", "xsel", "pbcopy"],
            Self::Notify => &["notify-send"],
        }
    }
}
