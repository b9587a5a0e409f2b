//! Columns computed from events: known formulas by name (`CEst`, `IPC`), the user's own as `NAME=EXPRESSION`.

use cg_profile::Profile;
use cg_profile::formula::Formula;

use crate::options::{Events, Options, RatioColumn};

/// Adds the sums that the options name to the profile, and the ratios to the options. Names of events and unknown names stay
/// unchanged.
///
/// # Errors
/// Returns an error for an invalid expression, and for a ratio in an output that adds up counts.
pub(crate) fn add(profile: &mut Profile, options: &mut Options) -> anyhow::Result<()> {
    let mut ratios = std::mem::take(&mut options.ratios);
    let mut take = |name: &mut String, is_shown: bool| -> anyhow::Result<bool> {
        let Some(formula) = find_formula(name, profile)? else {
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
            "{} is a ratio, which does not add up; only tables, CSV and TSV have columns for ratios",
            ratio.formula.name
        );
    }
    options.ratios = ratios;
    Ok(())
}

/// Returns the formula of a column: `CEst` for `incl.CEst%`. Corrects the name in the column to the name of the formula.
fn find_formula(name: &mut String, profile: &Profile) -> anyhow::Result<Option<Formula>> {
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
