//! Converts `Constant` nodes. The rules are those of initializers.

use super::super::constants::{Constant, Constants};
use super::super::notes::KeptReason;
use super::super::schema::Schema;
use super::super::structure::{Node, Place};
use super::super::weights;
use super::Converter;
use super::flow::Flow;
use super::values::Class;
use crate::error::FileError;

impl Converter<'_, '_> {
    pub(super) fn constant(
        &mut self,
        at: Place,
        node: &Node,
        (constant, schema): (&Constant<'_>, &Schema),
        asked: bool,
    ) -> Result<(), FileError> {
        let (from, to) = (self.rules.from, self.rules.to);
        let flow = Flow::of_shape(constant.shape);
        let target = weights::target_of(self.structure, constant.name, constant.element_type, self.rule)?;
        if constant.element_type != Some(from) {
            if let (Some(old), Some(target)) = (constant.element_type, target) {
                self.types.extend([old, target]);
                if self.found.is_some() {
                    self.constants().cast(at, constant, target)?;
                    weights::cast_back(self.structure, self.edits, at, constant.name, (old, target));
                }
            }
            self.make(at, 0, constant.name, ((Class::Other, flow), from));
            return Ok(());
        }
        let allowed = schema.outputs.variable(0).map(|variable| schema.allowed(variable));
        let is_allowed = target != Some(to) || allowed.is_some_and(|allowed| allowed.float(to));
        let reason = if asked { Some(KeptReason::Asked) } else { (!is_allowed).then_some(KeptReason::NotSupported) };
        if let Some(reason) = reason {
            self.note(node, reason);
        }
        let target = target.filter(|&target| reason.is_none() && !(target == to && self.next_stay(1, flow)));
        self.types.extend(target);
        if let Some(target) = target.filter(|_| self.found.is_some()) {
            self.constants().cast(at, constant, target)?;
        }
        self.make(at, 0, constant.name, ((Class::Old, flow), target.unwrap_or(from)));
        Ok(())
    }
}

impl<'a> Converter<'a, '_> {
    fn constants(&mut self) -> Constants<'a, '_> {
        let Self { model, structure, sources, edits, options, .. } = self;
        Constants { model: *model, structure, sources, edits, options: *options }
    }
}
