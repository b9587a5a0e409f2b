//! Columns that follow from events: known ones by name (`CEst`, `IPC`), the user's own as `NAME=EXPRESSION`.

use cg_stream::derived::Formula;
use cg_stream::profile::Profile;

use crate::options::{Events, Options, RatioColumn};

/// Puts what the options name into the profile, if it is a sum, or among the ratios of the options. What is an event, and
/// what is neither, stays as it is.
///
/// # Errors
/// Where an expression is none, and for a ratio where counts are added up.
pub(crate) fn add(profile: &mut Profile, options: &mut Options) -> anyhow::Result<()> {
    let mut ratios = std::mem::take(&mut options.ratios);
    let mut take = |name: &mut String, is_shown: bool| -> anyhow::Result<bool> {
        let Some(formula) = formula_of(name, profile)? else {
            return Ok(false);
        };
        if formula.divisor.is_none() {
            if profile.event(&formula.name).is_none() {
                profile.derive(&formula.name, &formula.sum)?;
            }
            return Ok(false);
        }
        if let Some(known) = ratios
            .iter_mut()
            .find(|known| known.formula.name == formula.name)
        {
            known.is_shown |= is_shown;
        } else {
            ratios.push(RatioColumn { formula, is_shown });
        }
        Ok(true)
    };
    if let Some(sort) = &mut options.sort {
        take(sort, false)?;
    }
    for column in &mut options.columns {
        take(column, false)?;
    }
    if let Events::Named(names) = &mut options.events {
        let mut events = Vec::new();
        for mut name in std::mem::take(names) {
            if !take(&mut name, true)? {
                events.push(name);
            }
        }
        options.events = match events.is_empty() {
            true => Events::Fitting,
            false => Events::Named(events),
        };
    }
    let adds_up = !options.format.has_columns() || !options.view.is_list();
    if let Some(ratio) = ratios.first().filter(|_| adds_up) {
        anyhow::bail!(
            "{} is a ratio, which does not add up: tables, CSV and TSV have columns of it",
            ratio.formula.name
        );
    }
    options.ratios = ratios;
    Ok(())
}

/// The figure that a column is of: `incl.CEst%` of `CEst`. Its name becomes the one that the figure has.
fn formula_of(name: &mut String, profile: &Profile) -> anyhow::Result<Option<Formula>> {
    let events = profile.events();
    if profile.event(name).is_some() {
        return Ok(None);
    }
    if let Some(parsed) = Formula::parse(name, events) {
        let formula = parsed.map_err(anyhow::Error::msg)?;
        name.clone_from(&formula.name);
        return Ok(Some(formula));
    }
    let start = match name.get(.."incl.".len()) {
        Some(prefix) if prefix.eq_ignore_ascii_case("incl.") => prefix.len(),
        _ => 0,
    };
    let end = name[start..]
        .find(['.', '%'])
        .map_or(name.len(), |end| start + end);
    let formula = Formula::named(&name[start..end], events);
    if let Some(formula) = &formula {
        name.replace_range(start..end, &formula.name);
    }
    Ok(formula)
}
