//! Enums whose variants have names.

/// Declares an enum with a name for each variant in one list: `ALL` in that order, `name`, and a `Display` that
/// writes the name.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $enum:ident { $($(#[$about:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        $vis enum $enum { $($(#[$about])* $variant,)+ }

        #[allow(dead_code, reason = "not every list is walked")]
        impl $enum {
            pub const ALL: [$enum; [$($name),+].len()] = [$($enum::$variant),+];

            pub const fn name(self) -> &'static str {
                match self { $($enum::$variant => $name),+ }
            }

            pub fn of_name(name: &str) -> Option<$enum> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

/// Compares and shows a type by its `name`, which is unique.
#[macro_export]
macro_rules! known_by_name {
    ($type:ty) => {
        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }

        impl Eq for $type {}

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name)
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name)
            }
        }
    };
}
