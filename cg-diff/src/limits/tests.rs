use super::*;

fn check(limit: &str, old: Count, new: Count) -> bool {
    limit
        .parse::<Limit>()
        .unwrap()
        .is_broken(Some(old), Some(new))
}

#[test]
fn limit_is_open_if_chance_decides() {
    let answer =
        |limit: &str, old, new, chance| limit.parse::<Limit>().unwrap().answer(old, new, chance);
    for (limit, old, new, chance, expected) in [
        // 200 - 52 and 200 + 52 are both above 120.
        ("samples[f]>+20%", 100, 200, 52, LimitAnswer::Broken),
        // 130 - 45 = 85 is below 120, 130 + 45 = 175 is above.
        ("samples[f]>+20%", 100, 130, 45, LimitAnswer::Open),
        ("samples[f]>+20%", 1000, 1010, 134, LimitAnswer::Kept),
        ("samples[f]>+20%", 1000, 1100, 134, LimitAnswer::Open),
        // A change equal to the limit does not break it.
        ("samples[f]>+20", 100, 110, 10, LimitAnswer::Kept),
        ("samples[f]>=+20", 100, 110, 10, LimitAnswer::Open),
        ("samples[f]<-10%", 100, 60, 29, LimitAnswer::Broken),
        ("samples[f]<-10%", 100, 60, 30, LimitAnswer::Open),
        // A level limits the count itself, without an allowance for chance.
        ("samples[f]>100", 0, 101, 50, LimitAnswer::Broken),
        ("samples[f]>100", 0, 100, 50, LimitAnswer::Kept),
        // A function without samples has 0.
        ("samples[f]>+5%", 0, 0, 0, LimitAnswer::Kept),
    ] {
        assert_eq!(
            answer(limit, old, new, chance),
            expected,
            "{limit} {old} {new} {chance}"
        );
    }
}

#[test]
fn inexact_figure_breaks_a_limit_only_if_every_possible_value_does() {
    use LimitAnswer::{Broken, Kept, Open};
    let answer =
        |limit: &str, figures, more| limit.parse::<Limit>().unwrap().answer_up_to(figures, more);
    for (limit, figures, more, expected) in [
        // Old: from 0 to 21; new: 15.
        ("bytes[f]>+0", [0, 15], [21, 0], Open),
        ("bytes[f]>+15", [0, 15], [21, 0], Kept),
        ("bytes[f]>+5%", [0, 15], [21, 0], Open),
        ("bytes[f]>+5%", [0, 15], [14, 0], Broken),
        ("bytes[f]>14", [0, 15], [21, 0], Broken),
        ("bytes[f]<-6", [0, 15], [21, 0], Kept),
        ("bytes[f]<-5", [0, 15], [21, 0], Open),
        // Old: 15; new: from 0 to 21.
        ("bytes[f]>+0", [15, 0], [0, 21], Open),
        ("bytes[f]>+6", [15, 0], [0, 21], Kept),
        ("bytes[f]>20", [15, 0], [0, 21], Open),
        ("bytes[f]>21", [15, 0], [0, 21], Kept),
        ("bytes[f]<-50%", [15, 0], [0, 7], Broken),
    ] {
        assert_eq!(
            answer(limit, figures, more),
            expected,
            "{limit} {figures:?} {more:?}"
        );
    }
}

#[test]
fn percentages_are_relative_to_the_old_figure_and_exact() {
    assert!(!check("Ir>+5%", 1000, 1050));
    assert!(check("Ir>+5%", 1000, 1051));
    assert!(check("Ir>=+5%", 1000, 1050));
    assert!(!check("Ir>+0.000001%", 100_000_000, 100_000_001));
    assert!(check("Ir>+0.000001%", 100_000_000, 100_000_002));
    assert!(check("Ir<-10%", 1000, 899));
    assert!(!check("Ir<-10%", 1000, 900));
    assert!(check("Ir>+5%", 0, 1));
    assert!(!check("Ir>+5%", 0, 0));
    let most = Count::from(u64::MAX);
    assert!(check("Ir>+100%", most / 2, most));
    assert!(!check("Ir>+4294967295%", most, most));
}

#[test]
fn value_with_a_sign_limits_the_change() {
    assert!(check("end_bytes>0", 5, 1));
    assert!(!check("end_bytes>+0", 5, 1));
    assert!(check("total_blocks > +0", 5, 6));
    assert!(check("Ir<-1_000", 5000, 3999));
    assert!(check("Ir<=100", 5, 100));
}

#[test]
fn regex_and_worst_determine_the_scope() {
    let limit = |text: &str| text.parse::<Limit>().unwrap();
    assert!(matches!(limit("Ir>+1").scope, Scope::Total));
    let functions = limit("incl.Ir[^mycrate::[a-z]+<.*>$]>+1000");
    assert_eq!(functions.figure, Limited::Incl("Ir".to_owned()));
    let Scope::Functions(regex) = functions.scope else {
        panic!("no regex")
    };
    assert_eq!(regex.as_str(), "^mycrate::[a-z]+<.*>$");
    assert!(matches!(limit("worst.Ir>+1").scope, Scope::Worst(None)));
    assert!(matches!(
        limit("worst.incl.Ir[f]>+1").scope,
        Scope::Worst(Some(_))
    ));
    assert_eq!(limit("calls[malloc]>+0").figure, Limited::Calls);
}

#[test]
fn invalid_limit_is_an_error_with_a_reason() {
    for (text, why) in [
        ("Ir", "expected > >= < or <= in \"Ir\", as in 'Ir>+5%'"),
        (
            "Ir>5%",
            "a percentage limits a change: expected +5% or -5%, found \"5%\"",
        ),
        ("Ir>+", "expected a number"),
        ("Ir>+x%", "expected a number"),
        ("Ir>+1.0000001%", "expected a number"),
        ("Ir>99999999999999999999", "expected a number"),
        (">5", "expected an event"),
        ("incl.Ir>+5%", "inclusive cost has no total"),
        ("Ir[a>5", "expected a regex in [ and ]"),
        ("Ir[(]>5", "regex parse error"),
        ("Ir[]>5", "found none"),
        ("worst.Ir[ ]>5", "found none"),
        ("Ir[a]5", "expected > >= < or <="),
    ] {
        let error = text.parse::<Limit>().unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn message_for_a_broken_limit_has_its_figures() {
    let limit: Limit = "Ir>+5%".parse().unwrap();
    let broken = |old, new| {
        limit.sentence(&Measured {
            chance: None,
            hidden: None,
            is_bound: false,
            whole: None,
            subject: "the total".to_owned(),
            old,
            new,
            noise: None,
            run: None,
        })
    };
    assert_eq!(
        broken(Some(1000), Some(1100)),
        "Ir>+5%: the total rose from 1,000 to 1,100 (+100, +10.00%)"
    );
    assert_eq!(broken(None, Some(7)), "Ir>+5%: the total is new with 7");
}

#[test]
fn change_within_the_noise_breaks_no_limit_but_a_level_can() {
    let check = |limit: &str, new, noise| {
        let limit: Limit = limit.parse().unwrap();
        limit.is_broken_beyond(Some(1000), Some(new), noise)
    };
    assert!(!check("Ir>+0.5%", 1010, Some(10)));
    assert!(check("Ir>+0.5%", 1011, Some(10)));
    assert!(check("Ir>+0.5%", 1010, None));
    assert!(check("Ir>=+0", 1001, Some(10)));
    assert!(check("Ir>1000", 1010, Some(10)));
    assert!(!check("Ir<-1", 990, Some(10)));
}

#[test]
fn file_has_one_limit_per_line() {
    let limits = parse_file("# agreed\n\nIr>+5%\n calls[malloc]>+0 \n").unwrap();
    assert_eq!(limits.len(), 2);
    assert!(parse_file("# nothing agreed yet\n").is_err());
    assert!(
        parse_file("Ir>+5%\nIr>>5\n")
            .unwrap_err()
            .starts_with("2: ")
    );
}

#[test]
fn units_are_powers_of_1000_and_1024() {
    for (limit, old, new, is_broken) in [
        ("bytes>1k", 0, 1_000, false),
        ("bytes>1k", 0, 1_001, true),
        ("bytes>1KiB", 0, 1_024, false),
        ("bytes>1KiB", 0, 1_025, true),
        ("bytes>2 MiB", 0, 2 << 20, false),
        ("bytes>=2_000M", 0, 2_000_000_000, true),
        ("bytes<1G", 0, 999_999_999, true),
        ("bytes>=1.5GiB", 0, 3 << 29, true),
        ("bytes>+1KiB", 10, 1_034, false),
        ("bytes>+1KiB", 10, 1_035, true),
        ("bytes<-1k", 2_000, 999, true),
    ] {
        assert_eq!(check(limit, old, new), is_broken, "{limit} {old} {new}");
    }
    for limit in [
        "bytes>1XiB",
        "bytes>1K",
        "bytes>1kb",
        "bytes>1TiB",
        "bytes>KiB",
        "bytes>1.0000001k",
        "bytes>0.0001k",
        "bytes>+1k%",
        "bytes>18446744073709551615k",
    ] {
        assert!(limit.parse::<Limit>().is_err(), "{limit}");
    }
}
