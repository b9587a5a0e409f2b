//! Colours of frames, by the origin of their code or by the change of their cost.

use std::fmt;

use cg_names::code_origin::CodeOwner;
use cg_stream::record::Count;

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Color {
    pub(crate) r: u8,
    pub(crate) g: u8,
    pub(crate) b: u8,
}

impl Color {
    pub(crate) const fn new(r: u8, g: u8, b: u8) -> Color {
        Color { r, g, b }
    }
}

/// Writes the colour in the syntax of SVG.
impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rgb({},{},{})", self.r, self.g, self.b)
    }
}

/// Returns the legend for the colour of an owner.
pub(crate) fn legend(owner: CodeOwner) -> &'static str {
    match owner {
        CodeOwner::Own => "own code orange",
        CodeOwner::Dependency => "dependencies yellow",
        CodeOwner::Std => "std blue",
        CodeOwner::System => "system green",
        CodeOwner::Kernel => "kernel violet",
        CodeOwner::Unknown => "unknown grey",
    }
}

/// Returns the colour of an owner's code. A hash of `text` varies the brightness, so that neighbours differ.
pub(crate) fn owner_color(owner: CodeOwner, text: &str) -> Color {
    let (from, to) = match owner {
        CodeOwner::Own => ([240, 120, 40], [255, 180, 90]),
        CodeOwner::Dependency => ([215, 195, 70], [240, 225, 130]),
        CodeOwner::Std => ([120, 165, 220], [175, 205, 240]),
        CodeOwner::System => ([140, 190, 130], [190, 220, 175]),
        CodeOwner::Kernel => ([180, 140, 205], [215, 185, 230]),
        CodeOwner::Unknown => ([170, 170, 170], [215, 215, 215]),
    };
    let step = u16::from(fold(text));
    let between = |channel: usize| {
        let (from, to): (u8, u8) = (from[channel], to[channel]);
        let span = u16::from(to - from);
        from + u8::try_from(span * step / 255).unwrap_or(0)
    };
    Color::new(between(0), between(1), between(2))
}

/// Returns the FNV-1a hash, folded to a byte.
fn fold(text: &str) -> u8 {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash.to_le_bytes()
        .iter()
        .fold(0, |folded, byte| folded ^ byte)
}

/// Returns red for an increase, blue for a decrease, white for no change. The square root of the share keeps small changes
/// visible next to a large one.
pub(crate) fn delta_color(delta: Count, most: Count) -> Color {
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
        let red = delta_color(5, 100);
        let blue = delta_color(-5, 100);
        assert!(red.r > red.b && red.g == red.b, "{red:?}");
        assert!(blue.b > blue.r && blue.r == blue.g, "{blue:?}");
        assert!(delta_color(100, 100).g < red.g);
        let white = delta_color(0, 100);
        assert!(white.r == white.g && white.g == white.b);
    }
}
