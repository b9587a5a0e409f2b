//! Colours: whose code a frame is, or how its cost changed.

use cg_names::whose::CodeOwner;
use cg_stream::record::Count;
use inferno::flamegraph::color::PaletteMap;

pub(crate) use inferno::flamegraph::color::Color;

/// The colour of every text of a picture.
#[derive(Default)]
pub(crate) struct Palette(pub(crate) PaletteMap);

impl Palette {
    pub(crate) fn insert(&mut self, text: &str, color: Color) {
        self.0.insert(text, color);
    }
}

/// Whose code a frame is, as far as colours tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shade {
    Own,
    Dependency,
    Library,
    System,
    Kernel,
}

impl Shade {
    pub(crate) const ALL: [Shade; 5] = [
        Shade::Own,
        Shade::Dependency,
        Shade::Library,
        Shade::System,
        Shade::Kernel,
    ];

    pub(crate) fn of_owner(owner: CodeOwner) -> Shade {
        match owner {
            CodeOwner::Own => Shade::Own,
            CodeOwner::Dependency => Shade::Dependency,
            CodeOwner::Std => Shade::Library,
            CodeOwner::System => Shade::System,
            CodeOwner::Kernel => Shade::Kernel,
        }
    }

    /// Whose it is, in the legend.
    pub(crate) fn of(self) -> &'static str {
        match self {
            Shade::Own => "own code",
            Shade::Dependency => "dependencies",
            Shade::Library => "std",
            Shade::System => "system",
            Shade::Kernel => "kernel",
        }
    }

    pub(crate) fn color_word(self) -> &'static str {
        match self {
            Shade::Own => "orange",
            Shade::Dependency => "yellow",
            Shade::Library => "blue",
            Shade::System => "green",
            Shade::Kernel => "violet",
        }
    }

    /// The suffix of a name that frames of another shade have too.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Shade::Own => " [own]",
            Shade::Dependency => " [dependency]",
            Shade::Library => " [std]",
            Shade::System => " [system]",
            Shade::Kernel => " [kernel]",
        }
    }

    /// A hue for the owner of the code, lighter or darker by a hash of the text, so that neighbours differ.
    pub(crate) fn color(self, text: &str) -> Color {
        let (from, to) = match self {
            Shade::Own => ([240, 120, 40], [255, 180, 90]),
            Shade::Dependency => ([215, 195, 70], [240, 225, 130]),
            Shade::Library => ([120, 165, 220], [175, 205, 240]),
            Shade::System => ([140, 190, 130], [190, 220, 175]),
            Shade::Kernel => ([180, 140, 205], [215, 185, 230]),
        };
        let step = u16::from(fold(text));
        let between = |channel: usize| {
            let (from, to): (u8, u8) = (from[channel], to[channel]);
            let span = u16::from(to - from);
            from + u8::try_from(span * step / 255).unwrap_or(0)
        };
        Color::new(between(0), between(1), between(2))
    }
}

/// FNV-1a, folded to a byte.
fn fold(text: &str) -> u8 {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash.to_le_bytes()
        .iter()
        .fold(0, |folded, byte| folded ^ byte)
}

/// Red for more, blue for less, white for no change. The square root of the share keeps small changes visible beside a
/// large one.
pub(crate) fn of_delta(delta: Count, most: Count) -> Color {
    if delta == 0 || most == 0 {
        return Color::new(245, 245, 245);
    }
    let share = (delta.unsigned_abs() as f64 / most.unsigned_abs() as f64).sqrt();
    let pale = (225.0 - 165.0 * share.min(1.0)) as u8;
    match delta > 0 {
        true => Color::new(255, pale, pale),
        false => Color::new(pale, pale, 255),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_red_and_less_is_blue() {
        let red = of_delta(5, 100);
        let blue = of_delta(-5, 100);
        assert!(red.r > red.b && red.g == red.b, "{red:?}");
        assert!(blue.b > blue.r && blue.r == blue.g, "{blue:?}");
        assert!(of_delta(100, 100).g < red.g);
        let white = of_delta(0, 100);
        assert!(white.r == white.g && white.g == white.b);
    }
}
