//! Weaves changes into a source file.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, Block, Expr, ReturnType, Signature, Type};

use crate::mutant::{Mutant, Source, offset};

/// The module that says which change is chosen. It is added to the crate.
pub const MODULE: &str = include_str!("chosen.rs");

/// Text that is put at a place of the file.
#[derive(Debug)]
struct Insertion {
    at: usize,
    /// What it surrounds, or the place alone.
    site: Range<usize>,
    is_end: bool,
    text: String,
    /// Where in the text the changes are.
    parts: Vec<(u32, Range<usize>)>,
}

/// A file with its changes.
#[derive(Debug, Default)]
pub struct Woven {
    pub text: String,
    /// The changes' own texts.
    parts: Vec<(Range<usize>, u32)>,
    /// The texts that changes surround, with the changes.
    sites: Vec<(Range<usize>, Vec<u32>)>,
    /// All changes that were woven in.
    pub ids: Vec<u32>,
}

impl Woven {
    /// The changes to blame for an error at a place: the one whose text this is, otherwise the innermost ones around it.
    pub fn blamed(&self, at: usize) -> Vec<u32> {
        if let Some((_, id)) = self.parts.iter().find(|(part, _)| part.contains(&at)) {
            return vec![*id];
        }
        let around = self.sites.iter().filter(|(site, _)| site.start <= at && at < site.end);
        around.min_by_key(|(site, _)| site.len()).map(|(_, ids)| ids.clone()).unwrap_or_default()
    }
}

/// Weaves in the changes of a file that `is_wanted` and that can be chosen while the program runs: not those of constants and of
/// functions that constants may call.
pub fn weave(source: &Source, is_wanted: impl Fn(u32) -> bool) -> syn::Result<Woven> {
    let file = syn::parse_file(&source.text)?;
    let mutants = source.mutants.iter().filter(|mutant| is_wanted(mutant.id)).collect();
    let mut weaver = Weaver { text: &source.text, mutants, constants: 0, insertions: Vec::new(), ids: Vec::new() };
    weaver.visit_file(&file);
    Ok(weaver.finish())
}

struct Weaver<'a> {
    text: &'a str,
    mutants: Vec<&'a Mutant>,
    /// How many constants are open.
    constants: usize,
    insertions: Vec<Insertion>,
    ids: Vec<u32>,
}

/// The call that tells whether a change is chosen.
fn is_chosen(id: u32) -> String {
    format!("crate::chosen::is({id})")
}

/// Whether a condition has `let` in it, which no parentheses may enclose.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

impl<'a> Weaver<'a> {
    fn range(&self, span: Span) -> Range<usize> {
        let place = |at: proc_macro2::LineColumn| offset(self.text, at.line, at.column);
        place(span.start())..place(span.end())
    }

    /// The changes of a kind at a place; none in constants.
    fn at(&self, kind: &str, start: usize) -> Vec<&'a Mutant> {
        let is_here = |mutant: &&&Mutant| mutant.kind == kind && mutant.span.start == start;
        let found = self.mutants.iter().filter(is_here).copied();
        if self.constants > 0 { Vec::new() } else { found.collect() }
    }

    /// The changes that delete an arm.
    fn deleted(&self, arm: &Arm) -> Vec<&'a Mutant> {
        self.at("MatchArm", self.range(arm.span()).start)
    }

    /// Puts `before` and `after` around a text.
    fn surround(&mut self, site: Range<usize>, (before, parts): (String, Vec<(u32, Range<usize>)>), after: &str) {
        self.ids.extend(parts.iter().map(|(id, _)| *id));
        let insertion = |at, is_end, text: String, parts| Insertion { at, site: site.clone(), is_end, text, parts };
        self.insertions.push(insertion(site.start, false, before, parts));
        self.insertions.push(insertion(site.end, true, after.to_owned(), Vec::new()));
    }

    /// Makes the expression at a place a choice between other ones and itself.
    fn choose(&mut self, site: Range<usize>, others: Vec<(u32, String)>) {
        if !others.is_empty() {
            self.surround(site, choices(&others), "})");
        }
    }

    /// Lets a function return other values than its own.
    fn returns(&mut self, signature: &Signature, block: &Block) {
        let Some(first) = block.stmts.first() else { return };
        let is_opaque = |ty: &Type| matches!(ty, Type::ImplTrait(_));
        if matches!(&signature.output, ReturnType::Type(_, ty) if is_opaque(ty)) {
            return;
        }
        let (mut text, mut parts) = (String::new(), Vec::new());
        for mutant in self.at("FnValue", self.range(first.span()).start) {
            text.push_str(&format!(" if {} {{ return ", is_chosen(mutant.id)));
            let start = text.len();
            text.push_str(&mutant.replacement);
            parts.push((mutant.id, start..text.len()));
            text.push_str("; }");
        }
        if !parts.is_empty() {
            let span = block.brace_token.span;
            let site = self.range(span.open()).end..self.range(span.close()).start;
            self.surround(site, (text, parts), "");
        }
    }

    fn function(&mut self, signature: &Signature, block: &Block, visit: impl FnOnce(&mut Self)) {
        self.constants += usize::from(signature.constness.is_some());
        self.returns(signature, block);
        visit(self);
        self.constants -= usize::from(signature.constness.is_some());
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        self.constants += 1;
        visit(self);
        self.constants -= 1;
    }

    fn finish(mut self) -> Woven {
        // Where several meet: ends before starts, the inner ends first and the outer starts first.
        self.insertions.sort_by_key(|insertion| {
            let outer_first = usize::MAX - insertion.site.end;
            let inner_first = usize::MAX - insertion.site.start;
            (insertion.at, !insertion.is_end, if insertion.is_end { inner_first } else { outer_first })
        });
        let mut woven = Woven { ids: self.ids, ..Woven::default() };
        let mut open: Vec<(Range<usize>, usize, Vec<u32>)> = Vec::new();
        let mut copied = 0;
        for insertion in self.insertions {
            woven.text.push_str(&self.text[copied..insertion.at]);
            copied = insertion.at;
            let start = woven.text.len();
            woven.text.push_str(&insertion.text);
            if insertion.is_end {
                // What surrounds nothing ends before it starts.
                let Some(last) = open.iter().rposition(|(site, ..)| *site == insertion.site) else { continue };
                let (_, start, ids) = open.remove(last);
                woven.sites.push((start..woven.text.len(), ids));
            } else {
                let parts = insertion.parts.iter().map(|(id, part)| (part.start + start..part.end + start, *id));
                woven.parts.extend(parts);
                open.push((insertion.site, start, insertion.parts.iter().map(|(id, _)| *id).collect()));
            }
        }
        woven.text.push_str(&self.text[copied..]);
        woven
    }
}

/// `(if the first is chosen { it } else if … else {`
fn choices(others: &[(u32, String)]) -> (String, Vec<(u32, Range<usize>)>) {
    let (mut text, mut parts) = ("(".to_owned(), Vec::new());
    for (id, other) in others {
        text.push_str(&format!("if {} {{ ", is_chosen(*id)));
        let start = text.len();
        text.push_str(other);
        parts.push((*id, start..text.len()));
        text.push_str(" } else ");
    }
    text.push('{');
    (text, parts)
}

impl<'ast> Visit<'ast> for Weaver<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block, |weaver| visit::visit_item_fn(weaver, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block, |weaver| visit::visit_impl_item_fn(weaver, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        match &item.default {
            Some(block) => self.function(&item.sig, block, |weaver| visit::visit_trait_item_fn(weaver, item)),
            None => visit::visit_trait_item_fn(self, item),
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(|weaver| visit::visit_item_const(weaver, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(|weaver| visit::visit_item_static(weaver, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(|weaver| visit::visit_impl_item_const(weaver, item));
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.constant(|weaver| visit::visit_trait_item_const(weaver, item));
    }

    fn visit_expr_const(&mut self, item: &'ast syn::ExprConst) {
        self.constant(|weaver| visit::visit_expr_const(weaver, item));
    }

    fn visit_type_array(&mut self, item: &'ast syn::TypeArray) {
        self.constant(|weaver| visit::visit_type_array(weaver, item));
    }

    fn visit_generic_argument(&mut self, item: &'ast syn::GenericArgument) {
        self.constant(|weaver| visit::visit_generic_argument(weaver, item));
    }

    fn visit_variant(&mut self, item: &'ast syn::Variant) {
        self.constant(|weaver| visit::visit_variant(weaver, item));
    }

    fn visit_pat(&mut self, item: &'ast syn::Pat) {
        self.constant(|weaver| visit::visit_pat(weaver, item));
    }

    fn visit_expr_repeat(&mut self, item: &'ast syn::ExprRepeat) {
        self.visit_expr(&item.expr);
        self.constant(|weaver| weaver.visit_expr(&item.len));
    }

    fn visit_expr_binary(&mut self, item: &'ast syn::ExprBinary) {
        if has_let(&item.left) || has_let(&item.right) {
            return visit::visit_expr_binary(self, item);
        }
        let [left, right] = [&item.left, &item.right].map(|side| &self.text[self.range(side.span())]);
        let changed = |mutant: &Mutant| format!("({left}) {} ({right})", mutant.replacement);
        let mutants = self.at("BinaryOperator", self.range(item.op.span()).start);
        let others = mutants.into_iter().map(|mutant| (mutant.id, changed(mutant))).collect();
        self.choose(self.range(item.span()), others);
        visit::visit_expr_binary(self, item);
    }

    fn visit_expr_unary(&mut self, item: &'ast syn::ExprUnary) {
        let operand = self.text[self.range(item.expr.span())].to_owned();
        let mutants = self.at("UnaryOperator", self.range(item.op.span()).start);
        let others = mutants.into_iter().map(|mutant| (mutant.id, operand.clone())).collect();
        self.choose(self.range(item.span()), others);
        visit::visit_expr_unary(self, item);
    }

    fn visit_expr_struct(&mut self, item: &'ast syn::ExprStruct) {
        let whole = self.range(item.span());
        let mut others = Vec::new();
        for field in &item.fields {
            for mutant in self.at("StructField", self.range(field.span()).start) {
                let after = &self.text[self.range(field.span()).end..whole.end];
                let after = after.trim_start().strip_prefix(',').unwrap_or(after);
                others.push((mutant.id, format!("{}{after}", &self.text[whole.start..mutant.span.start])));
            }
        }
        self.choose(whole, others);
        visit::visit_expr_struct(self, item);
    }

    fn visit_expr_match(&mut self, item: &'ast syn::ExprMatch) {
        // Arms that may be deleted do not count for the compiler, which wants one for the rest.
        if item.arms.iter().any(|arm| !self.deleted(arm).is_empty()) {
            let has_comma = item.arms.last().is_none_or(|arm| arm.comma.is_some());
            let end = self.range(item.brace_token.span.close()).start;
            let text = format!("{} _ => unreachable!() ", if has_comma { "" } else { "," });
            self.surround(end..end, (text, Vec::new()), "");
        }
        visit::visit_expr_match(self, item);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        let pattern = self.range(arm.pat.span());
        let deleted = self.deleted(arm);
        let kept: Vec<_> = deleted.iter().map(|mutant| (mutant.id, format!("!{}", is_chosen(mutant.id)))).collect();
        let kept_text = kept.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" && ");
        let body = pattern.start..self.range(arm.body.span()).end;
        match &arm.guard {
            Some((_, guard)) if !has_let(guard) => {
                let site = self.range(guard.span());
                let mutants = self.at("MatchArmGuard", site.start);
                let others: Vec<_> = mutants.iter().map(|mutant| (mutant.id, mutant.replacement.clone())).collect();
                self.choose(site.clone(), others);
                if !kept.is_empty() {
                    let text = format!("{kept_text} && (");
                    let parts = kept.iter().map(|(id, _)| (*id, 0..text.len())).collect();
                    self.surround(site, (text, parts), ")");
                }
            }
            None if !kept.is_empty() => {
                let text = format!(" if {kept_text}");
                let parts = kept.iter().map(|(id, _)| (*id, 0..text.len())).collect();
                self.surround(pattern.end..body.end, (text, parts), "");
            }
            _ => {}
        }
        visit::visit_arm(self, arm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// The change of the first place of a text.
    fn mutant(source: &str, id: u32, kind: &str, place: &str, replacement: &str) -> Mutant {
        let start = source.find(place).unwrap();
        let (name, kind, replacement) = (String::new(), kind.to_owned(), replacement.to_owned());
        Mutant { id, name, kind, span: start..start + place.len(), replacement }
    }

    fn woven(text: &str, mutants: Vec<Mutant>) -> Woven {
        let source = Source { path: PathBuf::new(), text: text.to_owned(), mutants };
        weave(&source, |_| true).unwrap()
    }

    #[test]
    fn changes_become_choices() {
        let source = "fn f(a: u8) -> u8 { match a { 0 if a == 1 => !a, 1 => S { a, ..s }, _ => a + 1 } }";
        let woven = woven(
            source,
            vec![
                mutant(source, 0, "FnValue", "match a", "7"),
                mutant(source, 1, "MatchArmGuard", "a == 1", "true"),
                mutant(source, 2, "BinaryOperator", "==", "!="),
                mutant(source, 3, "UnaryOperator", "!", ""),
                mutant(source, 4, "MatchArm", "1 => S", ""),
                mutant(source, 5, "StructField", "a, ..s", ""),
                mutant(source, 6, "BinaryOperator", "+", "-"),
            ],
        );
        let is = |id: u32| format!("if crate::chosen::is({id})");
        let guard = format!("({} {{ true }} else {{({} {{ (a) != (1) }} else {{a == 1}})}})", is(1), is(2));
        let expected = format!(
            "fn f(a: u8) -> u8 {{ {} {{ return 7; }} match a {{ 0 if {guard} => ({} {{ a }} else {{!a}}), \
             1 if !crate::chosen::is(4) => ({} {{ S {{  ..s }} }} else {{S {{ a, ..s }}}}), \
             _ => ({} {{ (a) - (1) }} else {{a + 1}}) , _ => unreachable!() }} }}",
            is(0),
            is(3),
            is(5),
            is(6)
        );
        assert_eq!(woven.text, expected);
        syn::parse_file(&woven.text).unwrap();
        // An error is due to the change in whose text it is, or else to those around it.
        let at = |text: &str| woven.blamed(woven.text.find(text).unwrap());
        assert_eq!([at("(a) - (1)"), at("a + 1"), at("7;"), at("a == 1")], [vec![6], vec![6], vec![0], vec![2]]);
    }

    #[test]
    fn constants_are_left() {
        let source = "const A: u8 = 1 + 2; const fn f() -> u8 { 3 } fn g(_: [u8; 4 + 5]) { if a && let b = c {} }";
        let mutants = vec![
            mutant(source, 0, "BinaryOperator", "+", "-"),
            mutant(source, 1, "FnValue", "3", "0"),
            mutant(source, 2, "BinaryOperator", "+ 5", "-"),
            mutant(source, 3, "BinaryOperator", "&&", "||"),
        ];
        let woven = woven(source, mutants);
        assert_eq!((woven.text.as_str(), woven.ids.len()), (source, 0));
    }
}
