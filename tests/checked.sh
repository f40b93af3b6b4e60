# Sets `checked`: the options of a build for tests, after cargo's subcommand, since nextest does not hear what stands before it.
# Optimised, since some tests try every code there is, but with the checks that a debug build has.
package=profile.release.package
checked="--release --config $package.wgpu-cast.overflow-checks=true --config $package.wgpu-cast.debug-assertions=true"
checked="$checked --config $package.wgpu-cast-cli.overflow-checks=true --config $package.wgpu-cast-cli.debug-assertions=true"
checked="$checked --config $package.wgpu-cast-files.overflow-checks=true --config $package.wgpu-cast-files.debug-assertions=true"
checked="$checked --config $package.wgpu-cast-support.overflow-checks=true"
