//! Figures about learning: whether a run learns, and whether a repeat gives the same result.

use super::FigurePage;

impl FigurePage<'_> {
    pub(super) fn loss(&mut self) {
        if let Some(step) = self.state.loss_lost {
            let text = format!("not finite since step {step}");
            return self.line("loss", text, self.theme.bad());
        }
        let now = self.state.loss.latest;
        let Some((now, first)) = now.zip(self.state.first_loss) else {
            return;
        };
        let arrow = self.theme.glyphs.arrow;
        let text = if self.state.loss.steps > 1 {
            format!("{first:.4} {arrow} {now:.4} nats")
        } else {
            format!("{now:.4} nats")
        };
        self.plain("loss", text);
    }

    pub(super) fn gradients(&mut self) {
        let Some(summary) = &self.state.summary else {
            return;
        };
        let all = summary.parameter_tensors;
        match summary.parameters_with_gradient {
            Some(with) if with == all => {
                let text = format!("all {all} tensors {}", self.theme.glyphs.check);
                self.line("gradients", text, self.theme.good());
            }
            Some(with) => {
                let text = format!("{with} of {all} tensors: this is not training");
                self.line("gradients", text, self.theme.bad());
            }
            None => self.not_reported("gradients"),
        }
    }

    pub(super) fn repeatability(&mut self) {
        let summary = self.state.summary.as_ref();
        let Some(repeat) = summary.and_then(|summary| summary.repeatability.as_ref()) else {
            return;
        };
        if repeat.identical {
            let text = format!("the same bits in {} repeats of a step", repeat.repeats);
            return self.line("repeats", text, self.theme.good());
        }
        let differing = repeat.differing_parameter.as_deref();
        let text = format!(
            "differ by {:.1e} in the loss, by {:.1e} in the gradient{}",
            repeat.loss_difference,
            repeat.gradient_difference,
            differing.map_or_else(String::new, |name| format!(" of {name}"))
        );
        self.line("repeats", text, self.theme.warning());
    }
}
