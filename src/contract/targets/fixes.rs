//! Fixes that `run --fix` applies to a stage or a case. Each has a registered name and corrects one kind of mistake.
//! A fix for a mistake that the target does not have is accepted and changes nothing.

use std::str::FromStr;

use crate::Synchronize;
use crate::model::{
    Backward, Initialisation, KeyValue, OperandTypes, Projection, Recipe, SideWork, Swiglu,
};
use tinyllama_base::known_by_name;

/// A fix with its name.
#[derive(Clone, Copy)]
pub struct Fix {
    pub name: &'static str,
    pub does: &'static str,
    apply: fn(&mut Recipe, &mut Synchronize),
}

/// Declares fixes: a name, a description, and the change to a target's recipe and clock.
macro_rules! fixes {
    ($($name:literal: $does:literal, $apply:expr;)+) => {
        &[$(Fix { name: $name, does: $does, apply: $apply }),+]
    };
}

pub const FIXES: &[Fix] = fixes! {
    "init": "draw the initial weights with deviation 0.02",
        |recipe, _| recipe.initialisation = Initialisation::Small;
    "layout": "read keys and values in the order they lie in memory",
        |recipe, _| recipe.key_value = KeyValue::Shared;
    "clock": "wait for the device before each clock is read",
        |_, timing| *timing = Synchronize::Phases;
    "products": "leave the matrix products of SwiGLU to the library",
        |recipe, _| (recipe.gate_up, recipe.swiglu) = (Projection::Fused, Swiglu::Kernel);
    "backward": "give every kernel a backward pass",
        |recipe, _| recipe.backward = Backward::Complete;
    "reads": "read nothing back to the host within a step",
        |recipe, _| end(recipe, SideWork::ReadGradients);
    "operands": "hand matrix products their operands in the type that was asked for",
        |recipe, _| recipe.operands = OperandTypes::Asked;
    "history": "free the gradients of a step after its update",
        |recipe, _| end(recipe, SideWork::KeepGradients);
    "evaluation": "compute no loss between two steps",
        |recipe, _| end(recipe, SideWork::Evaluate);
};

fn end(recipe: &mut Recipe, work: SideWork) {
    if recipe.side_work == work {
        recipe.side_work = SideWork::None;
    }
}

impl Fix {
    /// Returns a target's recipe and clock with the fix.
    pub fn apply_to(self, mut recipe: Recipe, mut timing: Synchronize) -> (Recipe, Synchronize) {
        (self.apply)(&mut recipe, &mut timing);
        (recipe, timing)
    }
}

impl FromStr for Fix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = FIXES.iter().copied().find(|fix| fix.name == text);
        found.ok_or_else(|| {
            let known = FIXES
                .iter()
                .map(|fix| format!("{} ({})", fix.name, fix.does));
            let known = itertools::join(known, ", ");
            format!("there is no fix `{text}`; there are: {known}")
        })
    }
}

known_by_name!(Fix);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::{ALL, Target, TargetKind, case1, case2, case3, case4, stage2, stage3, v3};

    /// Fixes that change something in a target.
    fn effective(target: Target) -> Vec<&'static str> {
        let changes = |fix: &&Fix| {
            fix.apply_to(target.recipe, target.timing) != (target.recipe, target.timing)
        };
        FIXES.iter().filter(changes).map(|fix| fix.name).collect()
    }

    #[test]
    fn each_mistake_has_its_fix_and_other_fixes_change_nothing() {
        assert_eq!(effective(stage2::TARGET), ["layout", "clock", "products"]);
        assert_eq!(effective(case1::TARGET), ["reads"]);
        assert_eq!(effective(case2::TARGET), ["operands"]);
        assert_eq!(effective(case3::TARGET), ["history"]);
        assert_eq!(effective(case4::TARGET), ["evaluation"]);
        let layout: Fix = "layout".parse().unwrap();
        let fixed = layout.apply_to(stage2::RECIPE, stage2::TARGET.timing);
        assert_eq!(fixed, (stage3::TARGET.recipe, stage3::TARGET.timing));
        for target in ALL.iter().filter(|target| target.kind == TargetKind::Case) {
            let fix = effective(*target);
            let fix: Fix = fix[0].parse().unwrap();
            let fixed = fix.apply_to(target.recipe, target.timing);
            assert_eq!(fixed, (v3::RECIPE, target.timing), "{target}");
        }
        assert!("magic".parse::<Fix>().unwrap_err().contains("layout"));
    }
}
