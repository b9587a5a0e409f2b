//! Texts of a stream that have a meaning to its readers: tools and kinds of errors.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Makes an enum of texts, each of which is its variant's name or stands beside it. Any other text passes through.
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
    /// Whether it is a sanitizer, which a compiler builds into the program.
    pub fn is_sanitizer(&self) -> bool {
        matches!(
            self,
            Tool::Asan | Tool::Hwasan | Tool::Lsan | Tool::Msan | Tool::Tsan | Tool::Ubsan
        )
    }

    /// Whether it looks for leaks, unless it is told not to.
    pub fn looks_for_leaks(&self) -> bool {
        matches!(
            self,
            Tool::Memcheck | Tool::Asan | Tool::Hwasan | Tool::Lsan
        )
    }
}

known_texts! {
    /// What an error is, as Valgrind's XML calls it.
    ErrorKind {
        // Memcheck's.
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
        // Helgrind's.
        Race,
        LockOrder,
        UnlockUnlocked,
        UnlockForeign,
        UnlockBogus,
        PthAPIerror,
        Dubious,
        Misc,
        // DRD's.
        ConflictingAccess,
        HoldtimeErr,
        CondRaceErr,
        CondErr,
        MutexErr,
        SemaphoreErr,
        BarrierErr,
        RwlockErr,
        GenericErr,
        // Of all tools.
        FdBadClose,
        FdBadUse,
        FdNotClosed,
        // Of cg-parse alone: of a signal that ended the process, of a sentence that it does not know.
        FatalSignal,
        Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_what_they_are_known_or_not() {
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
