//! Ports in words and addresses.

/// Reads a port from 1 to 65535 as it is printed: without a sign or zeros in front, by which one port would have many
/// texts.
pub(crate) fn port(text: &str) -> Option<u16> {
    let port: u16 = text.parse().ok().filter(|port| *port != 0)?;
    (port.to_string() == text).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::port;

    #[test]
    fn port_has_one_text() {
        for (text, expected) in [("1", Some(1)), ("443", Some(443)), ("65535", Some(65535))] {
            assert_eq!(port(text), expected);
        }
        for wrong in ["", "0", "65536", "+80", "-1", "080", " 80", "80 ", "0x50", "٨٠"] {
            assert_eq!(port(wrong), None, "{wrong}");
        }
    }
}
