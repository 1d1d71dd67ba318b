//! Resolves what modules mention to the files that define it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use crate::modules::{Crate, ModuleId};

/// For each file the files that it uses, and the names that it uses of each.
pub type Arrows = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

/// Returns the arrows between the files of a crate. A name that is exported again counts for the file that defines it.
pub fn arrows(code: &Crate) -> Arrows {
    let mut arrows = Arrows::new();
    for (id, module) in code.modules.iter().enumerate() {
        let from = arrows.entry(module.file.clone()).or_default();
        // An export is no use: only names that the file mentions itself count.
        let imported = module.imports.values().filter(|import| !import.is_exported);
        let imported = imported.map(|import| &import.path);
        for path in imported.chain(&module.mentions) {
            if let Some((file, name)) = code.defining_file(id, path)
                && file != module.file
            {
                from.entry(file).or_default().insert(name);
            }
        }
    }
    arrows
}

/// Names by the modules in which they are looked up.
type Seen = HashSet<(ModuleId, String)>;

/// What a path leads to.
enum Target {
    Module(ModuleId),
    /// An item in this module.
    Item(ModuleId, String),
}

impl Crate {
    /// Returns the file that defines what `path` means in `module`, with its name. `None` for other crates, for local
    /// names, and for modules themselves.
    fn defining_file(&self, module: ModuleId, path: &[String]) -> Option<(PathBuf, String)> {
        match self.resolve(module, path, &mut HashSet::new())? {
            Target::Item(id, name) => Some((self.modules[id].file.clone(), name)),
            Target::Module(_) => None,
        }
    }

    /// `seen` has the names that are looked up already, because imports can lead to each other.
    fn resolve(&self, module: ModuleId, path: &[String], seen: &mut Seen) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let mut target = match first.as_str() {
            "crate" => Target::Module(0),
            "self" => Target::Module(module),
            "super" => Target::Module(self.modules[module].parent?),
            name => self.look_up(module, name, seen)?,
        };
        for name in rest {
            let Target::Module(id) = target else {
                // A variant or an associated item is where its type is.
                return Some(target);
            };
            target = match name.as_str() {
                "super" => Target::Module(self.modules[id].parent?),
                name => self.look_up(id, name, seen).or_else(|| {
                    // Names that macros make are not seen; they count for the module itself.
                    let is_foreign = self.modules[id].imports.contains_key(name)
                        || self.modules[id]
                            .globs
                            .iter()
                            .any(|glob| self.is_foreign(id, glob));
                    (!is_foreign).then(|| Target::Item(id, name.to_owned()))
                })?,
            };
        }
        Some(target)
    }

    /// Looks a single name up in a module.
    fn look_up(&self, id: ModuleId, name: &str, seen: &mut Seen) -> Option<Target> {
        let module = &self.modules[id];
        if !seen.insert((id, name.to_owned())) {
            return None;
        }
        if let Some(&child) = module.children.get(name) {
            return Some(Target::Module(child));
        }
        if module.items.contains(name) {
            return Some(Target::Item(id, name.to_owned()));
        }
        if let Some(import) = module.imports.get(name) {
            // `use name::...` names a crate, or a child of this module.
            if import.path.first().is_some_and(|first| first == name) {
                return None;
            }
            return self.resolve(id, &import.path, seen);
        }
        module.globs.iter().find_map(|glob| {
            if self.is_foreign(id, glob) {
                return None;
            }
            let Target::Module(from) = self.resolve(id, glob, seen)? else {
                return None;
            };
            (from != id).then(|| self.look_up(from, name, seen))?
        })
    }

    /// Returns whether the path of a `use` in a module names another crate.
    fn is_foreign(&self, id: ModuleId, path: &[String]) -> bool {
        let module = &self.modules[id];
        path.first().is_none_or(|first| {
            !["crate", "self", "super"].contains(&first.as_str())
                && !module.children.contains_key(first)
                && !module.imports.contains_key(first)
        })
    }
}
