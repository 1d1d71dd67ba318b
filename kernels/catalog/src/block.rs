//! Block sizes, which are compiled into kernels. Each field is described once, for its documentation and for
//! `Kernel::block`.

/// Declares a struct of block sizes with the descriptions of its fields.
macro_rules! block {
    ($(#[$about:meta])* $name:ident { $($field:ident: $means:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            $(#[doc = $means] pub $field: usize,)+
        }

        impl $name {
            /// Names and descriptions of the fields.
            pub const FIELDS: &'static [[&'static str; 2]] = &[$([stringify!($field), $means]),+];

            pub const fn new($($field: usize),+) -> Self {
                $name { $($field),+ }
            }
        }
    };
}

block! {
    /// Block size of kernels in which each unit handles its own elements: the size of the cube.
    CubeBlock {
        units_per_cube: "units of a cube (threads of a workgroup)",
    }
}

block! {
    /// Block sizes of kernels in which a team of units handles a row.
    TeamBlock {
        units_per_row: "units that share a row; a power of two",
        rows_per_cube: "rows a cube holds at a time",
    }
}
