//! The sources of Rust's library in the toolchains of this user (`rustup component add rust-src`).

use std::env;
use std::fs;
use std::path::PathBuf;

use cg_collections::sorting::Order as _;

use crate::RustSource;

/// Returns the sources in all toolchains that rustup installed, sorted by path.
pub fn rust_sources() -> Vec<RustSource> {
    let rustup = env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup"));
    let Some(rustup) = rustup.or_else(home).filter(|path| path.is_absolute()) else {
        return Vec::new();
    };
    let Ok(toolchains) = fs::read_dir(rustup.join("toolchains")) else {
        return Vec::new();
    };
    let mut sources: Vec<RustSource> = toolchains
        .filter_map(|toolchain| {
            let library = toolchain.ok()?.path().join("lib/rustlib");
            let source = RustSource {
                folder: library.join("src/rust"),
                manifest: library.join("multirust-channel-manifest.toml"),
            };
            source.folder.is_dir().then_some(source)
        })
        .collect();
    sources.order_by(|a, b| a.folder.cmp(&b.folder));
    sources
}
