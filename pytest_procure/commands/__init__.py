"""The subcommands of `procure` that work on evidence packs, a module each."""
