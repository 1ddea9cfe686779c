#!/bin/bash
# Put a Level Zero loader and its headers into FOLDER: Debian 13's packages, of which nothing is installed.
set -eu
[ $# = 1 ] || { echo "usage: fetch_loader.sh FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
version=1.20.6-1

[ ! -e "$folder/complete" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    printf 'fetch_loader.sh: %s\n' "$@" >&2
    exit 3
}

# The archive that this machine's apt uses already, whatever its release.
# shellcheck disable=SC2016 # apt's variables
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -m 1 '/debian/*$') ||
    fail "apt knows no archive of Debian's here; put libze_loader.so.1 of Level Zero $version or newer and the folder" \
        "of its ze_api.h into $folder/lib and $folder/include, and touch $folder/complete"
mkdir -p "$work"/{lists/partial,archives/partial,packages}
cat >"$work/trixie.sources" <<END
Types: deb
URIs: $archive
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
options=(-q -o "Dir::Etc::sourcelist=$work/trixie.sources" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root)
{
    apt-get "${options[@]}" update
    cd "$work/packages"
    apt-get "${options[@]}" download "libze1=$version" "libze-dev=$version"
} >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "Level Zero $version could not be had from $archive"; }
for package in *.deb; do
    dpkg-deb --extract "$package" "$work/unpacked"
done

mkdir -p "$folder"/{lib,include}
cp -a "$work/unpacked"/usr/lib/*/libze_*.so.1* "$folder/lib"
cp -a "$work/unpacked/usr/include/level_zero/." "$folder/include"
# Debian 12's C++ library is one version too old by name alone.
python3 "$here/older_libstdcxx.py" "$folder"/lib/libze_*.so.1
touch "$folder/complete"
