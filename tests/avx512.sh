#!/bin/sh
# Runs the tests of the CPU path on an emulated processor with AVX-512 (Bochs), for machines that have none: its unit tests, and what
# `host` shows of casts. Fewer codes and lengths than tests/run.sh (tests/support/src/tier.rs), in the loops as users compile them.
# Arguments are parts of names: then only the unit tests with such a name are run.
# Needs x86-64 and Debian. It installs packages that are missing, unpacks a Linux kernel below target/avx512, and builds Bochs there.
# Exit status: 0, all passed; 3, NOT RUN, and stderr's last line says why; others, a test failed or did not build.
set -eu
cd "$(dirname "$0")/.."

folder=target/avx512
minutes=60

not_run() {
    echo "NOT RUN: the tests with AVX-512: $1" >&2
    exit 3
}

[ "$(uname -sm)" = 'Linux x86_64' ] || not_run 'this machine is no x86-64 one with Linux'
if grep -q avx512_vbmi2 /proc/cpuinfo; then
    not_run 'this processor has AVX-512, which needs no emulator: run tests/run.sh'
fi

packages='bochsbios vgabios busybox-static cpio isolinux syslinux-common xorriso g++ make xz-utils'
missing() {
    for program in busybox cpio xorriso g++ make xz; do
        command -v $program >/dev/null || return 0
    done
    for file in lib/ISOLINUX/isolinux.bin lib/syslinux/modules/bios/ldlinux.c32 share/bochs/BIOS-bochs-latest share/vgabios/vgabios.bin; do
        [ -e /usr/$file ] || return 0
    done
    return 1
}

command -v apt-get >/dev/null || not_run "there is no apt-get to install $packages with"
as_root=''
if [ "$(id -u)" != 0 ]; then
    as_root='sudo -n'
fi
if missing || [ ! -e $folder/vmlinuz ]; then
    $as_root apt-get update -qq || echo "apt-get update failed: trying with the package lists that are there" >&2
fi
if missing; then
    # shellcheck disable=SC2086 # packages, one a word
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null ||
        not_run "apt-get could not install $packages"
    ! missing || not_run "$packages have not all files that this needs"
fi
mkdir -p $folder
if [ ! -e $folder/vmlinuz ]; then
    # Debian 12 has Linux 6.12 beside its own 6.1, which stops while it starts on the emulated Ice Lake.
    kernel=$(apt-cache depends linux-image-6.12-cloud-amd64 linux-image-cloud-amd64 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[^ ]*\).*/\1/p' | head -n 1)
    [ -n "$kernel" ] || not_run 'apt-get knows no linux-image-cloud-amd64: this is not Debian'
    # As root, apt-get would download as a user that may not write here.
    (cd $folder && apt-get -qq -o APT::Sandbox::User=root download "$kernel" && dpkg -x "$kernel"_*.deb kernel) ||
        not_run "apt-get could not download $kernel"
    mv $folder/kernel/boot/vmlinuz-* $folder/vmlinuz
    rm -rf $folder/kernel $folder/linux-image-*.deb
fi
# Bochs 2.7, which Debian 12 has, rounds wrongly in some instructions of AVX-512.
if [ ! -e $folder/bochs ]; then
    # The mirror of Debian that this machine uses.
    mirror=$(apt-cache policy 2>/dev/null | sed -n 's/^ *[0-9]* \(http[^ ]*\) [a-z]*\/main .*/\1/p' | head -n 1)
    source=$PWD/$folder/source
    rm -rf "$source"
    mkdir -p "$source/lists/partial" "$source/cache/archives/partial"
    echo "deb-src $mirror trixie main" >"$source/sources.list"
    # With lists and a cache of its own, apt-get changes nothing of the system.
    apt() {
        apt-get -qq -o Dir::Etc::sourcelist="$source/sources.list" -o Dir::Etc::sourceparts=- \
            -o Dir::State::Lists="$source/lists" -o Dir::Cache="$source/cache" -o APT::Sandbox::User=root "$@"
    }
    { apt update && (cd "$source" && apt source --tar-only --download-only bochs=3.0+dfsg-1); } >$folder/build.log 2>&1 ||
        not_run "apt-get cannot download the source of Bochs 3.0 (see $folder/build.log)"
    (cd "$source" && tar xf bochs_3.0+dfsg.orig.tar.xz && cd bochs-3.0 &&
        CXXFLAGS=-O2 ./configure --with-nogui --enable-cpu-level=6 --enable-x86-64 --enable-avx --enable-evex --enable-pci \
            --enable-all-optimizations --disable-docbook && make -j"$(nproc)" bochs) >>$folder/build.log 2>&1 ||
        not_run "Bochs could not be built (see $folder/build.log)"
    mv "$source/bochs-3.0/bochs" $folder/bochs
    rm -rf "$source"
fi

# With the features that the suites need, without wgpu's in the unit tests.
build() {
    # Only such a build of `host` reads WGPU_CAST_ISA.
    RUSTFLAGS="${RUSTFLAGS:-} --cfg wgpu_cast_isa" cargo test --release --locked --package wgpu-cast --no-run --message-format=json "$@" >$folder/built
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' $folder/built
}
unit=$(build --package wgpu-cast --lib --no-default-features --features threads,cpu-simd)
for name in "$@"; do
    "$unit" --list | grep -q "$name.*: test$" || { echo "no unit test has $name in its name" >&2; exit 1; }
done
host=
[ $# -gt 0 ] || host=$(build --package wgpu-cast --test host)

root=$folder/root
rm -rf $root $folder/image
mkdir -p $root/bin $root/dev $root/proc $root/tmp $folder/image
busybox=$(command -v busybox)
cp "$busybox" $root/bin/busybox
for program in sh mount grep sleep poweroff; do
    ln -s busybox $root/bin/$program
done
cp "$unit" $root/bin/unit
[ -z "$host" ] || cp "$host" $root/bin/host
for library in $(ldd "$unit" ${host:+"$host"} | sed -n 's#^[^/]*\(/[^ ]*\) (.*#\1#p' | sort -u); do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
cat >$root/init <<'END'
#!/bin/sh
mount -t proc proc /proc
mount -t devtmpfs dev /dev
exec >/dev/ttyS0 2>&1
# The emulator ends with the machine: what the serial line has not sent by then is lost.
end() {
    echo "STATUS $1"
    sleep 1
    poweroff -f
}
grep -q avx512_vbmi2 /proc/cpuinfo || { echo 'the emulated processor has no AVX-512'; end 1; }
# A test that would take another instruction set ends with an error.
export WGPU_CAST_TESTS=emulator WGPU_CAST_ISA=avx512
cd /tmp
END
if [ $# -gt 0 ]; then
    echo "/bin/unit --test-threads=1 $* || end 1"
else
    # The other tests of `host` need files of the project, translate kernels, or check lists of inputs, none of which depends on the
    # processor.
    echo '/bin/unit --test-threads=1 cpu:: || end 1'
    echo '/bin/host --test-threads=1 cpu:: golden:: guard_pages:: properties:: threads:: || end 1'
fi >>$root/init
echo 'end 0' >>$root/init
chmod +x $root/init
(cd $root && find . | cpio --quiet -o -H newc | gzip -1) >$folder/image/initrd
cp $folder/vmlinuz /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 $folder/image/
cat >$folder/image/isolinux.cfg <<'END'
default linux
label linux
    kernel vmlinuz
    append initrd=initrd console=ttyS0,115200 quiet loglevel=1 mitigations=off panic=1
END
xorriso -as mkisofs -quiet -o $folder/image.iso -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table \
    $folder/image 2>>$folder/build.log
cat >$folder/bochsrc <<END
display_library: nogui
megs: 1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
cpu: model=corei7_icelake_u, ips=200000000, reset_on_triple_fault=0, ignore_bad_msrs=1
ata0-master: type=cdrom, path=$folder/image.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$folder/output
log: $folder/log
panic: action=fatal
error: action=ignore
info: action=ignore
END
: >$folder/output
# To turn the machine off is an error for Bochs. What its output says counts.
timeout ${minutes}m $folder/bochs -q -f $folder/bochsrc >/dev/null 2>&1 </dev/null || true
cat $folder/output
if ! tr -d '\r' <$folder/output | grep -qx 'STATUS 0'; then
    echo "the tests with AVX-512 failed, or did not end in $minutes minutes (see $folder/output and $folder/log)" >&2
    exit 1
fi
