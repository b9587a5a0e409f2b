# What developers of the tools run often; `just --list` shows it all.

# Check what .ci/run checks, without installing anything.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test --workspace

# Rewrite the expected output of transcripts and golden files; read the change before committing it.
update-expect:
    UPDATE_EXPECT=1 cargo test --workspace

# Read every profile under a folder and compare the sums with an independent reader's.
check-corpus folder="tests/data":
    scripts/check-corpus {{folder}}

# Measure the tools beside callgrind_annotate, cg_annotate, ms_print, jq and wc.
bench:
    scripts/bench

# Build the archive and the Debian package of a release, and try the package in a clean Debian.
release:
    scripts/release
    scripts/release check

# Install the five tools.
install *options:
    scripts/install {{options}}
