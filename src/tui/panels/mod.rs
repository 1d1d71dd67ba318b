//! Panels that show data: one file each.
