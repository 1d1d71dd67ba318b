//! Makes mutants of source files, all in one build: each is a branch that `crate::mutant(number)` selects. The kinds are those of
//! cargo-mutants, and conditions that never hold, and calls that are left out. Tests and constants stay.
//!
//! usage: switched-mutants ROOT LEFT-OUT FILE...     files below `ROOT` are changed; `LEFT-OUT` are numbers with commas, or `-`
//!
//! It prints a line for each mutant that is in: number, file, line, function, change.

use std::collections::BTreeSet;

use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprConst, ImplItemConst, ImplItemFn, Item, ItemConst,
    ItemFn, ItemImpl, ItemMod, ItemStatic, Pat, ReturnType, Signature, Stmt, Type, UnOp,
    parse_quote,
};

struct Switch {
    file: String,
    next: usize,
    left_out: BTreeSet<usize>,
    functions: Vec<String>,
    log: Vec<String>,
}

impl Switch {
    /// The number of one more mutant; `None` if it is left out.
    fn number(&mut self, line: usize, change: String) -> Option<usize> {
        let number = self.next;
        self.next += 1;
        if self.left_out.contains(&number) {
            return None;
        }
        let function = self.functions.join("::");
        self.log.push(format!(
            "{number}\t{}\t{line}\t{function}\t{change}",
            self.file
        ));
        Some(number)
    }

    fn body(&mut self, signature: &Signature, block: &mut Block) {
        if signature.constness.is_some() || block.stmts.is_empty() {
            return;
        }
        for value in values(&signature.output) {
            let text = value.to_token_stream().to_string();
            if block.stmts.len() == 1 && block.stmts[0].to_token_stream().to_string() == text {
                continue;
            }
            if let Some(number) = self.number(
                signature.span().start().line,
                format!("the body is `{text}`"),
            ) {
                block.stmts.insert(
                    0,
                    parse_quote!(if crate::mutant(#number) { return #value; }),
                );
            }
        }
    }
}

/// Values that a function might return without looking.
fn values(output: &ReturnType) -> Vec<Expr> {
    let ReturnType::Type(_, output) = output else {
        return vec![parse_quote!(())];
    };
    simple(output)
}

fn simple(output: &Type) -> Vec<Expr> {
    if let Type::Reference(reference) = output
        && reference.elem.to_token_stream().to_string() == "str"
    {
        return vec![parse_quote!("xyzzy")];
    }
    let Type::Path(path) = output else {
        return Vec::new();
    };
    let Some(last) = path.path.segments.last() else {
        return Vec::new();
    };
    let of = match &last.arguments {
        syn::PathArguments::AngleBracketed(of) => of.args.first(),
        _ => None,
    };
    match last.ident.to_string().as_str() {
        "bool" => vec![parse_quote!(true), parse_quote!(false)],
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" | "isize" => {
            vec![parse_quote!(0), parse_quote!(1)]
        }
        "f64" | "f32" => vec![parse_quote!(0.0)],
        "String" => vec![parse_quote!(String::new())],
        "Vec" => vec![parse_quote!(Vec::new())],
        "Option" => vec![parse_quote!(None)],
        "Result" => {
            let inner = match of {
                Some(syn::GenericArgument::Type(Type::Tuple(unit))) if unit.elems.is_empty() => {
                    vec![parse_quote!(())]
                }
                Some(syn::GenericArgument::Type(inner)) => simple(inner),
                _ => Vec::new(),
            };
            inner
                .into_iter()
                .map(|value: Expr| parse_quote!(Ok(#value)))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn replacements(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["<=", ">"],
        BinOp::Gt(_) => &[">=", "<"],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-"],
        BinOp::Sub(_) => &["+"],
        BinOp::Mul(_) => &["+"],
        BinOp::Div(_) => &["*"],
        BinOp::Rem(_) => &["/"],
        BinOp::BitAnd(_) => &["|"],
        BinOp::BitOr(_) => &["&"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::AddAssign(_) => &["-="],
        BinOp::SubAssign(_) => &["+="],
        BinOp::BitOrAssign(_) => &["&="],
        _ => &[],
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        text.contains("cfg (test)") || text == "# [test]"
    })
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(paren) => has_let(&paren.expr),
        _ => false,
    }
}

fn short(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    text.chars().take(70).collect()
}

impl VisitMut for Switch {
    // These are computed by the compiler.
    fn visit_item_const_mut(&mut self, _: &mut ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut ItemStatic) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut ImplItemConst) {}
    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}

    fn visit_item_mut(&mut self, item: &mut Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            _ => return visit_mut::visit_item_mut(self, item),
        };
        if !is_test(attributes) {
            visit_mut::visit_item_mut(self, item);
        }
    }

    fn visit_item_mod_mut(&mut self, module: &mut ItemMod) {
        self.functions.push(module.ident.to_string());
        visit_mut::visit_item_mod_mut(self, module);
        self.functions.pop();
    }

    fn visit_item_impl_mut(&mut self, item: &mut ItemImpl) {
        let of = item
            .trait_
            .as_ref()
            .map(|(_, path, _)| path.to_token_stream().to_string());
        if !of.is_some_and(|of| of.ends_with("Debug") || of.ends_with("Display")) {
            self.functions.push(short(&item.self_ty));
            visit_mut::visit_item_impl_mut(self, item);
            self.functions.pop();
        }
    }

    fn visit_item_fn_mut(&mut self, function: &mut ItemFn) {
        if function.sig.constness.is_some() {
            return;
        }
        self.functions.push(function.sig.ident.to_string());
        visit_mut::visit_item_fn_mut(self, function);
        self.body(&function.sig, &mut function.block);
        self.functions.pop();
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        if function.sig.constness.is_some() || is_test(&function.attrs) {
            return;
        }
        self.functions.push(function.sig.ident.to_string());
        visit_mut::visit_impl_item_fn_mut(self, function);
        self.body(&function.sig, &mut function.block);
        self.functions.pop();
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        let whole: Vec<String> = block
            .stmts
            .iter()
            .map(|statement| short(statement))
            .collect();
        visit_mut::visit_block_mut(self, block);
        for (statement, text) in block.stmts.iter_mut().zip(whole) {
            let line = statement.span().start().line;
            let Stmt::Expr(expression, Some(_)) = statement else {
                continue;
            };
            let is_call =
                |expression: &Expr| matches!(expression, Expr::Call(_) | Expr::MethodCall(_));
            let called = match &*expression {
                Expr::Try(tried) => is_call(&tried.expr),
                other => is_call(other),
            };
            if called && let Some(number) = self.number(line, format!("left out: `{text}`")) {
                *expression = parse_quote!(if !crate::mutant(#number) { #expression; });
            }
        }
    }

    fn visit_expr_if_mut(&mut self, conditional: &mut syn::ExprIf) {
        let text = short(&conditional.cond);
        let line = conditional.span().start().line;
        visit_mut::visit_expr_if_mut(self, conditional);
        let condition = &conditional.cond;
        let number = match has_let(condition) {
            true => None,
            false => self.number(line, format!("never: `if {text}`")),
        };
        if let Some(number) = number {
            conditional.cond = parse_quote!((!crate::mutant(#number) && (#condition)));
        }
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let text = short(expression);
        let line = expression.span().start().line;
        visit_mut::visit_expr_mut(self, expression);
        match expression.clone() {
            Expr::Binary(binary) if !has_let(&binary.left) && !has_let(&binary.right) => {
                for replacement in replacements(&binary.op) {
                    let change = format!(
                        "`{}` is `{replacement}` in `{text}`",
                        binary.op.to_token_stream()
                    );
                    if let Some(number) = self.number(line, change) {
                        let (left, right) = (&binary.left, &binary.right);
                        let operator: BinOp = syn::parse_str(replacement).expect("an operator");
                        *expression = match replacement.ends_with('=')
                            && replacement.len() == 2
                            && !"!=<=>===".contains(replacement)
                        {
                            true => {
                                parse_quote!(if crate::mutant(#number) { #left #operator #right } else { #expression })
                            }
                            false => {
                                parse_quote!((if crate::mutant(#number) { (#left) #operator (#right) } else { #expression }))
                            }
                        };
                    }
                }
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                if let Some(number) = self.number(line, format!("without `!`: `{text}`")) {
                    let operand = &unary.expr;
                    *expression =
                        parse_quote!((if crate::mutant(#number) { #operand } else { #expression }));
                }
            }
            _ => {}
        }
    }

    fn visit_expr_match_mut(&mut self, matching: &mut syn::ExprMatch) {
        visit_mut::visit_expr_match_mut(self, matching);
        let is_rest = |arm: &Arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none();
        let has_rest = matching.arms.iter().any(is_rest);
        for arm in &mut matching.arms {
            let (line, text) = (arm.span().start().line, short(&arm.pat));
            let is_rest = is_rest(arm);
            if let Some((_, guard)) = &mut arm.guard
                && !has_let(guard)
            {
                let said = short(guard);
                if let Some(number) = self.number(line, format!("always: `{text} if {said}`")) {
                    **guard = parse_quote!((crate::mutant(#number) || (#guard)));
                }
            }
            let may_go = has_rest && !is_rest || arm.guard.is_some();
            if may_go && let Some(number) = self.number(line, format!("without the arm `{text}`")) {
                let guard = match &arm.guard {
                    Some((_, guard)) if has_let(guard) => continue,
                    Some((_, guard)) => quote!((!crate::mutant(#number) && (#guard))),
                    None => quote!(!crate::mutant(#number)),
                };
                let guard = syn::parse2(guard).expect("a guard");
                arm.guard = Some((Default::default(), Box::new(guard)));
            }
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [root, left_out, files @ ..] = words.as_slice() else {
        panic!("usage: switched-mutants ROOT LEFT-OUT FILE...");
    };
    let left_out = left_out.split(',').filter_map(|number| number.parse().ok());
    let mut switch = Switch {
        file: String::new(),
        next: 0,
        left_out: left_out.collect(),
        functions: Vec::new(),
        log: Vec::new(),
    };
    for file in files {
        let path = format!("{root}/{file}");
        let text = std::fs::read_to_string(&path).expect("the source");
        let mut parsed = syn::parse_file(&text).expect("Rust");
        switch.file.clone_from(file);
        switch.visit_file_mut(&mut parsed);
        std::fs::write(&path, prettyplease::unparse(&parsed)).expect("the source is written");
    }
    for line in switch.log {
        println!("{line}");
    }
}
