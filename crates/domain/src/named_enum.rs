//! Enumerations whose values have a name in files, settings, output and JSON.

/// Declares an enumeration together with the names of its values.
// A macro, so that the name in JSON, the name in output and the list of all values cannot differ.
macro_rules! named_enum {
    ($(#[$about:meta])* pub enum $name:ident {
        $($(#[$note:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$about])*
        pub enum $name { $($(#[$note])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Returns its name in files, output and JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}

pub(crate) use named_enum;
