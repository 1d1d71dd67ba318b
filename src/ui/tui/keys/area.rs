//! The areas in which the actions of keys apply.

use tinyllama_base::named;

named! {
    /// The area in which an action applies, under its name in the file of keys. The help page keeps this order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Area {
        Step = "step",
        /// A panel of data that fills the screen, over a step.
        Panel = "panel",
        Outline = "outline",
        /// A page over the screen: help, a reference page, messages.
        Page = "page",
        /// The welcome page of a first visit.
        Welcome = "welcome",
        Everywhere = "everywhere",
    }
}

impl Area {
    /// Heading of its actions on the help page.
    pub fn title(self) -> &'static str {
        match self {
            Area::Step => "At a step",
            Area::Panel => "In figures",
            Area::Outline => "In the outline",
            Area::Page => "On a page like this",
            Area::Welcome => "On the first page",
            Area::Everywhere => "Everywhere",
        }
    }

    /// Returns whether a key could mean both. An inner area may redefine a key of the area around it, but no key that
    /// applies everywhere.
    pub fn overlaps(self, other: Area) -> bool {
        self == other || self == Area::Everywhere || other == Area::Everywhere
    }
}
