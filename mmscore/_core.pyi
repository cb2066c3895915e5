"""The Rust core. Import it through the modules of this package, not directly."""

__version__: str
