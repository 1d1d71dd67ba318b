//! Several panels, one visible at a time, below a line of all names.

use crate::tui::{Effects, Pane, Panel, PanelCommand, Snippet, Tabs, paragraph};
use tinyllama_tutor_core::PanelAction;

pub type PanelSection = (&'static str, Box<dyn Panel>);

#[derive(Debug)]
pub struct Sections {
    sections: Vec<PanelSection>,
    tabs: Tabs,
    /// The text if there are no sections.
    nothing: &'static str,
    /// A line above all sections.
    head: Option<String>,
}

impl Sections {
    pub fn new(sections: Vec<PanelSection>, nothing: &'static str) -> Self {
        Self {
            sections,
            tabs: Tabs::default(),
            nothing,
            head: None,
        }
    }

    /// Shows a line above all sections.
    pub fn with_head(self, head: Option<String>) -> Self {
        Self { head, ..self }
    }
}

impl Panel for Sections {
    fn paint(&self, pane: &mut Pane) {
        let Some((_, panel)) = self.sections.get(self.tabs.at) else {
            return pane.remark(self.nothing);
        };
        let names: Vec<&str> = self.sections.iter().map(|(name, _)| *name).collect();
        pane.put([self.tabs.line(&names, pane.width(), pane.theme)]);
        if let Some(head) = &self.head {
            pane.put(paragraph(head, pane.area.width, pane.theme.emphasis()));
        }
        panel.paint(pane);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let count = self.sections.len();
        let inner = self.sections.get_mut(self.tabs.at);
        self.tabs.act(action, count) || inner.is_some_and(|(_, panel)| panel.act(action))
    }

    fn filter(&mut self, text: &str) -> bool {
        let inner = self.sections.get_mut(self.tabs.at);
        inner.is_some_and(|(_, panel)| panel.filter(text))
    }

    fn effects(&self, action: PanelAction) -> Effects {
        let inner = self.sections.get(self.tabs.at);
        inner.and_then(|(_, panel)| panel.effects(action))
    }

    fn copies(&self) -> Vec<Snippet> {
        let inner = self.sections.get(self.tabs.at);
        inner.map_or(vec![], |(_, panel)| panel.copies())
    }

    fn commands(&self) -> Vec<PanelCommand> {
        let inner = self.sections.get(self.tabs.at);
        let inner = inner.map_or_else(Vec::new, |(_, panel)| panel.commands());
        let mut commands = vec![(PanelAction::NextSection, "next section")];
        commands.truncate(self.sections.len().saturating_sub(1));
        // The section keys switch these sections, so a panel's own sections get the toggle key.
        commands.extend(inner.into_iter().map(|(action, does)| match action {
            PanelAction::NextSection => (PanelAction::Toggle, does),
            action => (action, does),
        }));
        commands
    }
}

#[cfg(test)]
impl Sections {
    pub fn names(&self) -> Vec<&'static str> {
        self.sections.iter().map(|(name, _)| *name).collect()
    }

    /// Switches to the section with this name.
    pub fn go(&mut self, name: &str) {
        while self.sections[self.tabs.at].0 != name {
            self.act(PanelAction::NextSection);
        }
    }
}
