//! Images that a page may show: recognised by their names and by their first bytes.
//!
//! SVG is not among them: it is a document that can contain scripts and load other files.

/// A type of image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    Png,
    Jpeg,
    Gif,
    Webp,
    Avif,
}

impl ImageKind {
    /// Returns the type that a file's name says.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension.to_ascii_lowercase().as_str() {
            "png" => Self::Png,
            "jpg" | "jpeg" => Self::Jpeg,
            "gif" => Self::Gif,
            "webp" => Self::Webp,
            "avif" => Self::Avif,
            _ => return None,
        })
    }

    /// Whether a file of this type can begin with these bytes.
    #[must_use]
    pub fn matches_bytes(self, bytes: &[u8]) -> bool {
        let at = |from: usize, wanted: &[u8]| {
            bytes
                .get(from..)
                .is_some_and(|rest| rest.starts_with(wanted))
        };
        match self {
            Self::Png => at(0, b"\x89PNG\r\n\x1a\n"),
            Self::Jpeg => at(0, b"\xff\xd8\xff"),
            Self::Gif => at(0, b"GIF8"),
            Self::Webp => at(0, b"RIFF") && at(8, b"WEBP"),
            Self::Avif => at(4, b"ftypavi"),
        }
    }

    /// Returns its media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Avif => "image/avif",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_first_bytes_have_to_agree() {
        let kind = ImageKind::from_name("art/Map.PNG");
        assert_eq!(kind, Some(ImageKind::Png));
        assert!(ImageKind::Png.matches_bytes(b"\x89PNG\r\n\x1a\nrest"));
        assert!(!ImageKind::Png.matches_bytes(b"<svg onload=alert(1)>"));
        assert!(!ImageKind::Webp.matches_bytes(b"RIFF"));
        for name in ["map.svg", "map", "png", "map.html", ".env"] {
            assert_eq!(ImageKind::from_name(name), None, "{name}");
        }
    }
}
