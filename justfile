# Frequent commands for developers of the tools; `just --list` lists them.

# Run the main checks of .ci/run without installing anything.
check:
    cargo fmt --all --check
    scripts/check-language
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test --workspace

# Rewrite the expected output of transcripts and golden files; review the change before committing it.
update-expect:
    UPDATE_EXPECT=1 cargo test --workspace

# Read every profile under a folder and compare the sums with an independent reader.
check-corpus folder="tests/data":
    scripts/check-corpus {{folder}}

# Compare the speed of the tools with callgrind_annotate, cg_annotate, ms_print, jq and wc.
bench:
    scripts/bench

# Build the archive and the Debian package of a release, and test the package in a clean Debian.
release:
    scripts/release
    scripts/release check

# Install the five tools.
install *options:
    scripts/install {{options}}
