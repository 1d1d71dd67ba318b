//! Reads the functions of a module of LLVM in text form: blocks, edges between them, and instructions as text.

use std::collections::HashMap;

use crate::compile::SOURCE;

/// One module. Names of values, blocks and types are borrowed from its text.
#[derive(Debug, Default)]
pub struct Module<'a> {
    pub functions: HashMap<&'a str, Function<'a>>,
    /// Texts behind `%struct.float4 = type` and the like, behind `!7 =`, and behind `attributes #2 =`.
    definitions: HashMap<&'a str, &'a str>,
    /// Attributes of functions without a body.
    declared: HashMap<&'a str, &'a str>,
}

#[derive(Debug, Default)]
pub struct Function<'a> {
    pub parameters: Vec<&'a str>,
    pub blocks: Vec<Block<'a>>,
    /// Block and position of the instruction that gives a value.
    pub values: HashMap<&'a str, (usize, usize)>,
    /// Blocks that control reaches, each after the one that dominates it.
    pub order: Vec<usize>,
    /// The nearest block that control has to pass before a block.
    pub dominator: Vec<usize>,
}

#[derive(Debug, Default)]
pub struct Block<'a> {
    pub label: &'a str,
    pub instructions: Vec<Instruction<'a>>,
    pub successors: Vec<usize>,
    pub predecessors: Vec<usize>,
}

#[derive(Debug)]
pub struct Instruction<'a> {
    pub operation: &'a str,
    /// What follows the operation, without flags and the attachments at the end, cut at commas.
    pub operands: Vec<&'a str>,
    /// Flags such as `nsw`, `disjoint`.
    pub flags: Vec<&'a str>,
    text: &'a str,
}

const FLAGS: [&str; 12] = [
    "nuw", "nsw", "exact", "disjoint", "nneg", "samesign", "inbounds", "nusw", "tail", "musttail",
    "notail", "volatile",
];

impl<'a> Module<'a> {
    pub fn parse(text: &'a str) -> Module<'a> {
        let mut module = Module::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some((name, rest)) = line
                .starts_with("define ")
                .then(|| signature(line))
                .flatten()
            {
                let body = lines.by_ref().take_while(|line| *line != "}").collect();
                module.functions.insert(name, Function::parse(rest, body));
            } else if let Some((name, _)) = line
                .starts_with("declare ")
                .then(|| signature(line))
                .flatten()
            {
                module
                    .declared
                    .insert(name, line.rsplit(' ').next().unwrap_or_default());
            } else if let Some((name, definition)) = line.split_once(" = ") {
                module
                    .definitions
                    .insert(name.trim_start_matches("attributes "), definition);
            }
        }
        module
    }

    /// Returns whether a call of `name` writes no memory that a kernel's arguments reach.
    pub fn is_harmless(&self, name: &str) -> bool {
        const HARMLESS: [&str; 4] = [
            "llvm.amdgcn.s.barrier",
            "llvm.amdgcn.wave.barrier",
            "llvm.lifetime.",
            "llvm.assume",
        ];
        let attributes = self
            .declared
            .get(name)
            .and_then(|number| self.definitions.get(number));
        HARMLESS.iter().any(|known| name.starts_with(known))
            || attributes.is_some_and(|text| text.contains("memory(none)"))
    }

    /// The line of the learner's file that an instruction comes from. A function of a header counts as its call.
    pub fn line(&self, instruction: &Instruction<'_>) -> Option<u32> {
        let field = |text: &'a str, name: &str| {
            let after = text.split_once(name)?.1;
            after.split([',', ')']).next()
        };
        let mut place = instruction.text.split_once("!dbg ")?.1.split(',').next()?;
        loop {
            let location = *self.definitions.get(place)?;
            let scope = self.definitions.get(field(location, "scope: ")?)?;
            let file = self.definitions.get(field(scope, "file: ")?)?;
            if file.contains(&format!("\"{SOURCE}\"")) {
                return field(location, "line: ")?
                    .parse()
                    .ok()
                    .filter(|line| *line > 0);
            }
            place = field(location, "inlinedAt: ")?;
        }
    }

    /// Bytes of a type.
    pub fn size_of(&self, kind: &str) -> Option<i128> {
        let inside = |open, close| kind.strip_prefix(open)?.strip_suffix(close);
        let kind = kind.trim();
        if let Some(fields) = inside("{ ", " }") {
            // Fields of one size, between which no bytes are left free.
            let sizes = parts(fields).into_iter().map(|field| self.size_of(field));
            let sizes = sizes.collect::<Option<Vec<_>>>()?;
            return sizes
                .iter()
                .all(|size| *size == sizes[0])
                .then(|| sizes.iter().sum());
        }
        if let Some((count, element)) = inside("[", "]")
            .or_else(|| inside("<", ">"))
            .and_then(|many| many.split_once(" x "))
        {
            return Some(count.parse::<u32>().ok().map(i128::from)? * self.size_of(element)?);
        }
        match kind {
            "i8" => Some(1),
            "half" | "bfloat" | "i16" => Some(2),
            "float" | "i32" => Some(4),
            "double" | "i64" => Some(8),
            named => self.size_of(self.definitions.get(named)?.strip_prefix("type ")?),
        }
    }
}

impl<'a> Function<'a> {
    fn parse(parameters: &'a str, body: Vec<&'a str>) -> Function<'a> {
        let names = parts(parameters)
            .into_iter()
            .filter_map(|one| one.rsplit(' ').next());
        let mut function = Function {
            parameters: names.collect(),
            ..Function::default()
        };
        let mut targets: Vec<Vec<&str>> = vec![];
        for line in body {
            let label = line.split_once(':').map(|(label, _)| label);
            if let Some(label) =
                label.filter(|label| !line.starts_with(' ') && !label.contains(' '))
            {
                function.blocks.push(Block {
                    label,
                    ..Block::default()
                });
                targets.push(vec![]);
                continue;
            }
            if function.blocks.is_empty() && !line.trim().is_empty() {
                // The first block may have no label; then its name is the number after those of the parameters.
                function.blocks.push(Block::default());
                targets.push(vec![]);
            }
            let (Some(block), Some(target)) = (function.blocks.last_mut(), targets.last_mut())
            else {
                continue;
            };
            let line = line.trim();
            target.extend(line.match_indices("label %").filter_map(|(at, found)| {
                let after = &line[at + found.len()..];
                after.split([',', ' ', ']']).next()
            }));
            if line.is_empty()
                || line.starts_with(['[', ']', ';'])
                || line
                    .trim_start_matches('i')
                    .starts_with(|c: char| c.is_ascii_digit())
            {
                continue;
            }
            let (result, text) = match line.split_once(" = ") {
                Some((result, text)) if line.starts_with('%') => (Some(result), text),
                _ => (None, line),
            };
            if let Some(result) = result {
                let place = (targets.len() - 1, block.instructions.len());
                function.values.insert(result, place);
            }
            block.instructions.push(Instruction::parse(text));
        }
        for (from, targets) in targets.iter().enumerate() {
            for target in targets {
                if let Some(to) = function
                    .blocks
                    .iter()
                    .position(|block| block.label == *target)
                {
                    function.blocks[from].successors.push(to);
                    function.blocks[to].predecessors.push(from);
                }
            }
        }
        function.find_dominators();
        function
    }

    /// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
    fn find_dominators(&mut self) {
        let count = self.blocks.len();
        let mut finished = vec![];
        let (mut seen, mut stack) = (vec![false; count], vec![(0, 0)]);
        while let Some((block, next)) = stack.pop().filter(|_| count > 0) {
            seen[block] = true;
            match self.blocks[block].successors.get(next) {
                Some(&to) => {
                    stack.push((block, next + 1));
                    if !seen[to] {
                        stack.push((to, 0));
                    }
                }
                None => finished.push(block),
            }
        }
        let mut rank = vec![usize::MAX; count];
        self.order = finished.into_iter().rev().collect();
        self.order
            .iter()
            .enumerate()
            .for_each(|(at, block)| rank[*block] = at);
        let mut dominator: Vec<Option<usize>> = vec![None; count];
        if let Some(first) = dominator.first_mut() {
            *first = Some(0);
        }
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &block in self.order.iter().skip(1) {
                let known = self.blocks[block]
                    .predecessors
                    .iter()
                    .copied()
                    .filter(|one| dominator[*one].is_some());
                let nearest = known.reduce(|mut a, mut b| {
                    while a != b {
                        let later = if rank[a] > rank[b] { &mut a } else { &mut b };
                        *later = dominator[*later].unwrap_or_default();
                    }
                    a
                });
                changed |= dominator[block] != nearest;
                dominator[block] = nearest;
            }
        }
        self.dominator = dominator
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
    }

    pub fn dominates(&self, above: usize, mut block: usize) -> bool {
        while block != above && block != 0 {
            block = self.dominator[block];
        }
        block == above
    }

    /// Blocks of the loop that begins at `header`: those between it and the jumps back to it.
    pub fn loop_of(&self, header: usize) -> Vec<usize> {
        let mut inside = vec![header];
        let mut open: Vec<usize> = self.back_edges(header);
        while let Some(block) = open.pop() {
            if !inside.contains(&block) {
                inside.push(block);
                open.extend(&self.blocks[block].predecessors);
            }
        }
        inside
    }

    pub fn back_edges(&self, header: usize) -> Vec<usize> {
        let from = self.blocks[header].predecessors.iter().copied();
        from.filter(|from| self.order.contains(from) && self.dominates(header, *from))
            .collect()
    }
}

impl<'a> Instruction<'a> {
    fn parse(text: &'a str) -> Instruction<'a> {
        let mut flags = vec![];
        let (mut operation, mut rest) = text.split_once(' ').unwrap_or((text, ""));
        while FLAGS.contains(&operation) {
            (operation, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        }
        while let Some((flag, after)) = rest
            .split_once(' ')
            .filter(|(flag, _)| FLAGS.contains(flag))
        {
            flags.push(flag);
            rest = after;
        }
        let operands = parts(rest)
            .into_iter()
            .filter(|part| !part.starts_with('!'))
            .collect();
        Instruction {
            operation,
            operands,
            flags,
            text,
        }
    }

    /// Name of the function that is called. `None` for assembly and computed addresses.
    pub fn callee(&self) -> Option<&'a str> {
        let (before, after) = self.text.split_once('@')?;
        let known = !before.contains('%') && !before.contains(" asm ");
        known
            .then(|| after.split_once('(').map(|(name, _)| name))
            .flatten()
    }
}

/// Name and parameters of a function.
fn signature(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once('@')?.1.split_once('(')?;
    let mut depth = 1;
    let end = rest.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })?;
    Some((name, &rest[..end]))
}

/// Cuts at commas outside brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let cut = |c: char| {
        depth += i32::from("([{<".contains(c)) - i32::from(")]}>".contains(c));
        c == ',' && depth == 0
    };
    text.split(cut)
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}
