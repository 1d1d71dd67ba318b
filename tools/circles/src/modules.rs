//! Reads the modules of a crate: for each module its children, the names that it imports, and the paths that it mentions.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// An index in [`Crate::modules`].
pub type ModuleId = usize;

/// A crate as a tree of modules. The first module is the root.
#[derive(Debug, Default)]
pub struct Crate {
    pub modules: Vec<Module>,
}

#[derive(Debug, Default)]
pub struct Module {
    /// The file with the module's code.
    pub file: PathBuf,
    pub parent: Option<ModuleId>,
    pub children: HashMap<String, ModuleId>,
    /// Items of the module itself.
    pub items: HashSet<String>,
    /// What `use` gives a name in this module.
    pub imports: HashMap<String, Import>,
    /// Paths of `use path::*`.
    pub globs: Vec<Vec<String>>,
    /// Paths and single names in the code, in the order in which they appear.
    pub mentions: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
pub struct Import {
    pub path: Vec<String>,
    /// Whether other modules can import the name from here.
    pub is_exported: bool,
}

impl Crate {
    /// Reads a crate from its root file. Test modules are left out, since they may use everything.
    ///
    /// # Errors
    /// If a file cannot be read, is missing, or is no Rust.
    pub fn read(root: &Path) -> Result<Crate, String> {
        let mut new = Crate::default();
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        new.read_file(root, &folder, None)?;
        Ok(new)
    }

    /// Reads the module in `file`. Its children are in `folder`.
    fn read_file(
        &mut self,
        file: &Path,
        folder: &Path,
        parent: Option<ModuleId>,
    ) -> Result<ModuleId, String> {
        let place = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let text = fs::read_to_string(file).map_err(|error| place(&error))?;
        let tokens: TokenStream = text.parse().map_err(|error| place(&error))?;
        let id = self.add(file, parent);
        self.read_items(id, folder, tokens)?;
        Ok(id)
    }

    fn add(&mut self, file: &Path, parent: Option<ModuleId>) -> ModuleId {
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            ..Module::default()
        });
        self.modules.len() - 1
    }

    fn read_items(
        &mut self,
        id: ModuleId,
        folder: &Path,
        tokens: TokenStream,
    ) -> Result<(), String> {
        let mut rest = Tokens::new(tokens);
        while !rest.is_empty() {
            let attributes = rest.attributes();
            let item = rest.item();
            if attributes.is_test {
                continue;
            }
            self.modules[id].mention(attributes.tokens, Names::Inner);
            let mut item = Tokens::new(item);
            let is_exported = item.visibility();
            match item.word().as_str() {
                "mod" => self.read_module(id, folder, item, attributes.path)?,
                "use" => {
                    item.next();
                    self.modules[id].import(item.rest(), is_exported);
                }
                _ => {
                    let names = item.names();
                    self.modules[id].mention(item.rest(), names);
                }
            }
        }
        Ok(())
    }

    /// Reads `mod name;` or `mod name { ... }`.
    fn read_module(
        &mut self,
        parent: ModuleId,
        folder: &Path,
        mut item: Tokens,
        path: Option<String>,
    ) -> Result<(), String> {
        item.next();
        let name = item.word();
        item.next();
        let inner = folder.join(&name);
        let child = match item.next() {
            Some(TokenTree::Group(body)) => {
                let file = self.modules[parent].file.clone();
                let child = self.add(&file, Some(parent));
                self.read_items(child, &inner, body.stream())?;
                child
            }
            _ => {
                let written = self.modules[parent]
                    .file
                    .with_file_name(path.unwrap_or_default());
                let places = [
                    folder.join(format!("{name}.rs")),
                    inner.join("mod.rs"),
                    written,
                ];
                let file = places.iter().find(|file| file.is_file()).ok_or_else(|| {
                    format!(
                        "{}: no file of module `{name}`",
                        self.modules[parent].file.display()
                    )
                })?;
                self.read_file(file, &inner, Some(parent))?
            }
        };
        self.modules[parent].children.insert(name, child);
        Ok(())
    }
}

impl Module {
    /// Reads the tree behind `use`.
    fn import(&mut self, tree: TokenStream, is_exported: bool) {
        self.import_tree(&mut Tokens::new(tree), &[], is_exported);
    }

    fn import_tree(&mut self, rest: &mut Tokens, prefix: &[String], is_exported: bool) {
        let mut path = prefix.to_vec();
        let mut alias = None;
        while let Some(token) = rest.next() {
            match token {
                TokenTree::Group(group) => {
                    let mut inner = Tokens::new(group.stream());
                    while !inner.is_empty() {
                        self.import_tree(&mut inner, &path, is_exported);
                    }
                    // The group has consumed the path.
                    path.clear();
                }
                TokenTree::Ident(name) if name == "as" => {
                    alias = Some(rest.word());
                    rest.next();
                }
                TokenTree::Ident(name) if name == "self" && !path.is_empty() => {}
                TokenTree::Ident(name) => path.push(name.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    self.globs.push(std::mem::take(&mut path));
                }
                TokenTree::Punct(mark) if ",;".contains(mark.as_char()) => break,
                _ => {}
            }
        }
        if let Some(name) = alias.or_else(|| path.last().cloned()) {
            self.imports.insert(name, Import { path, is_exported });
        }
    }

    /// Collects paths, single names and items from code.
    fn mention(&mut self, tokens: TokenStream, names: Names) {
        let mut rest = Tokens::new(tokens);
        let mut before = String::new();
        while let Some(token) = rest.next() {
            let now = token.to_string();
            match token {
                TokenTree::Group(group) => self.mention(group.stream(), names.in_group()),
                TokenTree::Ident(name) if name == "use" && before != "$" => {
                    let tree = rest.until_semicolon();
                    self.import(tree, false);
                }
                TokenTree::Ident(name) => {
                    if names != Names::Inner && is_item(&before) {
                        self.items.insert(name.to_string());
                    }
                    // What follows a dot is a field or a method.
                    if before != "." {
                        let path = rest.path(name);
                        self.mentions.push(path);
                    }
                }
                _ => {}
            }
            before = now;
        }
    }
}

/// Where the names of items belong that some tokens define.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// To the module; those in groups belong to a type or a function.
    Module,
    /// To the module, also in groups: a macro makes items.
    Macro,
    /// To a type or a function.
    Inner,
}

impl Names {
    fn in_group(self) -> Names {
        match self {
            Names::Macro => Names::Macro,
            Names::Module | Names::Inner => Names::Inner,
        }
    }
}

/// Returns whether an item's name follows this keyword.
fn is_item(keyword: &str) -> bool {
    [
        "struct", "enum", "union", "trait", "fn", "type", "const", "static",
    ]
    .contains(&keyword)
}

/// The attributes before an item.
struct Attributes {
    tokens: TokenStream,
    /// Whether the item exists in tests only.
    is_test: bool,
    /// The value of `#[path = "..."]`.
    path: Option<String>,
}

/// Tokens that are read from left to right.
struct Tokens {
    tokens: Vec<TokenTree>,
    at: usize,
}

impl Tokens {
    fn new(tokens: TokenStream) -> Tokens {
        Tokens {
            tokens: tokens.into_iter().collect(),
            at: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn peek(&self) -> Option<&TokenTree> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<TokenTree> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn rest(&mut self) -> TokenStream {
        let rest = self.tokens[self.at.min(self.tokens.len())..]
            .iter()
            .cloned()
            .collect();
        self.at = self.tokens.len();
        rest
    }

    /// Returns the next token as text.
    fn word(&self) -> String {
        self.peek().map_or_else(String::new, ToString::to_string)
    }

    fn is_mark(&self, mark: char) -> bool {
        matches!(self.peek(), Some(TokenTree::Punct(now)) if now.as_char() == mark)
    }

    fn attributes(&mut self) -> Attributes {
        let mut all = Attributes {
            tokens: TokenStream::new(),
            is_test: false,
            path: None,
        };
        while self.is_mark('#') {
            self.next();
            if self.is_mark('!') {
                self.next();
            }
            let Some(TokenTree::Group(group)) = self.next() else {
                continue;
            };
            let text = group.stream().to_string().replace(' ', "");
            all.is_test |= text.starts_with("cfg(test)") || text.starts_with("cfg(all(test");
            if let Some(path) = text.strip_prefix("path=") {
                all.path = Some(path.trim_matches('"').to_owned());
            }
            if !text.starts_with("doc=") {
                all.tokens.extend(group.stream());
            }
        }
        all
    }

    /// Reads one item: up to a semicolon or a block in braces. Values of constants may have blocks before their semicolon.
    fn item(&mut self) -> TokenStream {
        let mut item = Vec::new();
        let mut is_value = false;
        while let Some(token) = self.next() {
            let ends = match &token {
                TokenTree::Punct(mark) => mark.as_char() == ';',
                TokenTree::Group(group) => !is_value && group.delimiter() == Delimiter::Brace,
                TokenTree::Ident(word) => {
                    let names_function = matches!(self.peek(), Some(TokenTree::Ident(next)) if next == "fn" || next == "unsafe" || next == "async");
                    is_value |=
                        (word == "const" && !names_function) || word == "static" || word == "use";
                    is_value &= !["fn", "impl", "trait", "struct", "enum"]
                        .contains(&word.to_string().as_str());
                    false
                }
                TokenTree::Literal(_) => false,
            };
            item.push(token);
            if ends {
                break;
            }
        }
        item.into_iter().collect()
    }

    /// Skips `pub` and `pub(...)`. Returns whether there was one.
    fn visibility(&mut self) -> bool {
        let is_public = self.word() == "pub";
        if is_public {
            self.next();
            if matches!(self.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
            {
                self.next();
            }
        }
        is_public
    }

    /// Returns where the names belong that an item defines, at its beginning.
    fn names(&self) -> Names {
        let is_call = matches!(self.tokens.get(self.at + 1), Some(TokenTree::Punct(mark)) if mark.as_char() == '!');
        match is_call && self.word() != "macro_rules" {
            true => Names::Macro,
            false => Names::Module,
        }
    }

    fn until_semicolon(&mut self) -> TokenStream {
        let mut tree = Vec::new();
        while let Some(token) = self.next() {
            if matches!(&token, TokenTree::Punct(mark) if mark.as_char() == ';') {
                break;
            }
            tree.push(token);
        }
        tree.into_iter().collect()
    }

    /// Reads on the path that begins with `first`.
    fn path(&mut self, first: Ident) -> Vec<String> {
        let mut path = vec![first.to_string()];
        while self.is_mark(':') {
            let (colons, name) = (&self.tokens[self.at..], self.tokens.get(self.at + 2));
            let are_two =
                matches!(colons.get(1), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
            let (true, Some(TokenTree::Ident(name))) = (are_two, name) else {
                break;
            };
            path.push(name.to_string());
            self.at += 3;
        }
        path
    }
}
