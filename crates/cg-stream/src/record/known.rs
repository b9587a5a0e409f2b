//! Texts of a stream with a known meaning: tools and kinds of errors.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Generates an enum of texts. The text of a variant is its name unless a text follows the name. Other texts are kept
/// unchanged.
macro_rules! known_texts {
    ($(#[$meta:meta])* $name:ident { $($known:ident $(= $text:literal)?,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the variants are called what the tools call them")]
        pub enum $name {
            $($known,)*
            /// A text that this version does not know.
            Other(Box<str>),
        }

        impl From<&str> for $name {
            fn from(text: &str) -> $name {
                $(if *text == *$name::$known {
                    return $name::$known;
                })*
                $name::Other(text.into())
            }
        }

        impl Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                match self {
                    $($name::$known => known_texts!(@text $known $($text)?),)*
                    $name::Other(text) => text,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(|text| $name::from(text.as_str()))
            }
        }
    };
    (@text $known:ident) => { stringify!($known) };
    (@text $known:ident $text:literal) => { $text };
}

known_texts! {
    /// The tool whose output a run is.
    Tool {
        Callgrind = "callgrind",
        Cachegrind = "cachegrind",
        Memcheck = "memcheck",
        Helgrind = "helgrind",
        Drd = "drd",
        Nulgrind = "none",
        Massif = "massif",
        Dhat = "dhat",
        Heaptrack = "heaptrack",
        Gungraun = "gungraun",
        Criterion = "criterion",
        PerfStat = "perf-stat",
        Asan = "asan",
        Hwasan = "hwasan",
        Lsan = "lsan",
        Msan = "msan",
        Tsan = "tsan",
        Ubsan = "ubsan",
    }
}

impl Tool {
    /// Returns true if the tool is a sanitizer, which a compiler builds into the program.
    pub fn is_sanitizer(&self) -> bool {
        matches!(
            self,
            Tool::Asan | Tool::Hwasan | Tool::Lsan | Tool::Msan | Tool::Tsan | Tool::Ubsan
        )
    }

    /// Returns true if the tool is one of Valgrind's.
    pub fn is_valgrinds(&self) -> bool {
        matches!(
            self,
            Tool::Callgrind
                | Tool::Cachegrind
                | Tool::Memcheck
                | Tool::Helgrind
                | Tool::Drd
                | Tool::Nulgrind
                | Tool::Massif
                | Tool::Dhat
        )
    }

    /// Returns true if the tool searches for leaks by default.
    pub fn looks_for_leaks(&self) -> bool {
        matches!(
            self,
            Tool::Memcheck | Tool::Asan | Tool::Hwasan | Tool::Lsan
        )
    }
}

known_texts! {
    /// The kind of an error, as in Valgrind's XML.
    ErrorKind {
        // Kinds of Memcheck.
        InvalidRead,
        InvalidWrite,
        InvalidJump,
        InvalidFree,
        MismatchedFree,
        InvalidMemPool,
        InvalidAlignment,
        InvalidSize,
        InvalidSizeAndAlignment,
        MismatchedAllocateDeallocateSize,
        MismatchedAllocateDeallocateAlignment,
        UninitCondition,
        UninitValue,
        ClientCheck,
        CoreMemError,
        SyscallParam,
        Overlap,
        FishyValue,
        ReallocSizeZero,
        // Kinds of Helgrind.
        Race,
        LockOrder,
        UnlockUnlocked,
        UnlockForeign,
        UnlockBogus,
        PthAPIerror,
        Dubious,
        Misc,
        // Kinds of DRD.
        ConflictingAccess,
        HoldtimeErr,
        CondRaceErr,
        CondErr,
        MutexErr,
        SemaphoreErr,
        BarrierErr,
        RwlockErr,
        GenericErr,
        // Kinds of all tools.
        FdBadClose,
        FdBadUse,
        FdNotClosed,
        // Kinds of cg-parse: a signal that ended the process, and an unknown sentence.
        FatalSignal,
        Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_unknown_texts_are_kept() {
        for (text, tool) in [
            ("none", Tool::Nulgrind),
            ("memcheck", Tool::Memcheck),
            ("Memcheck", Tool::Other("Memcheck".into())),
        ] {
            assert_eq!(Tool::from(text), tool);
            assert_eq!(&*tool, text);
            let json = serde_json::to_string(&tool).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Tool>(&json).unwrap(), tool);
        }
        assert_eq!(ErrorKind::from("Race"), ErrorKind::Race);
        assert_eq!(&*ErrorKind::UninitValue, "UninitValue");
    }
}
