//! Keys, the areas in which they apply, and the learner's own file of keys.

mod area;
mod file;
mod key;

pub use area::Area;
pub use file::load;
pub use key::Key;
