//! The two faces of the tutor. [`tui`] draws a full screen, [`plain`] prints lines and reads commands.
//!
//! Both render what the tutor's core says and carry out its actions, so they cannot disagree about a lesson.
//!
//! The crate uses everything from `base` to `report`. Nothing but the command line uses it.
//!
//! ```
//! use tinyllama_ui::tui::KeyMap;
//!
//! assert!(KeyMap::default().bindings_in(tinyllama_ui::tui::Area::Step).count() > 5);
//! ```

pub mod plain;
pub mod tui;
