# Sets `checked`: the options of a build for tests, after cargo's subcommand, since nextest does not hear what stands before it.
checked='--release --config tests/checked.toml'
