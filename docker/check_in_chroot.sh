#!/bin/bash
# Carry out a Dockerfile's own instructions in a fresh Debian chroot, where there is no Docker engine: Dockerfile.oneapi, whose
# image cannot be had. docker/Dockerfile has stages: check_by_buildah.sh.
set -eu -o pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<EOF
usage: docker/check_in_chroot.sh [OPTION]... DOCKERFILE [COMMAND]...

Makes a minimal Debian with debootstrap in place of the FROM image, carries out ARG, ENV, WORKDIR, USER, COPY . ., RUN and
HEALTHCHECK, then CMD, then each COMMAND (a shell line) as "docker run" would. Needs root. The first that fails ends it, with its exit status.

  --suite NAME          Debian release (default bookworm)
  --build-arg NAME=VAL  as for docker build
  --bind PATH           show a folder of this machine in the chroot (a local package index, say)
  --keep FOLDER         make the chroot there and leave it (default: a temporary folder, removed)

pip's settings (configuration files, PIP_*, certificates, proxies) are those of this machine.
EOF
}

suite=bookworm
keep=
build_args=()
binds=(/etc/resolv.conf /etc/ssl/certs /etc/pip.conf "$HOME/.config/pip")
arguments=("$@")
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage && exit ;;
        --suite) suite=$2 && shift 2 ;;
        --build-arg) build_args+=("$2") && shift 2 ;;
        --bind) binds+=("$2") && shift 2 ;;
        --keep) keep=$2 && shift 2 ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || { usage >&2 && exit 2; }
dockerfile=$1
shift

# Mounts are made in a separate namespace: they end with it, and the removal below cannot reach what was mounted.
if [ -z "${CHROOT:-}" ]; then
    root=${keep:-$(mktemp -d)}
    [ -n "$keep" ] || trap 'rm -rf "$root"' EXIT
    CHROOT=$root unshare --mount docker/check_in_chroot.sh "${arguments[@]}"
    exit
fi
root=$CHROOT

from=$(sed -n 's/^FROM //p' "$dockerfile")
case $from in
    intel/oneapi-basekit:*) stand_in=build-essential,ca-certificates ;;
    *) echo "check_in_chroot.sh: no stand-in for the image $from" >&2 && exit 2 ;;
esac

echo "== FROM $from (stand-in: Debian $suite with $stand_in)"
debootstrap --variant=minbase --include="$stand_in" "$suite" "$root" >"$root.log" 2>&1 || { tail "$root.log" >&2 && exit 1; }
rm "$root.log"

chmod 755 "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
for path in "${binds[@]}"; do
    [ -e "$path" ] || continue
    if [ -d "$path" ]; then mkdir -p "$root$path"; else mkdir -p "$root${path%/*}" && touch "$root$path"; fi
    mount --bind -o ro "$path" "$root$path"
done

workdir=/
user=root
environment=(HOME=/root DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
for name in $(compgen -e | grep -E '^(PIP_.*|[a-z]*_proxy|SSL_CERT_FILE)$'); do
    environment+=("$name=${!name}")
done

if [[ $from = intel/* ]]; then
    # The image's variables lead to the toolkit's libraries; empty ones here, so that any use of them is an error.
    toolkit=/opt/intel/oneapi
    mkdir -p "$root$toolkit" "$root/etc/OpenCL/vendors"
    touch "$root$toolkit"/{libsycl.so.9,libdnnl.so.3,libOpenCL.so.1,libtbb.so.12,libintelocl.so,sitecustomize.py}
    echo 'raise SystemExit("PYTHONPATH is still the toolkit'"'"'s")' >"$root$toolkit/sitecustomize.py"
    echo '#error "CPATH is still the toolkit'"'"'s"' | tee "$root$toolkit"/{cstddef,dnnl.hpp} >/dev/null
    echo "$toolkit/libintelocl.so" >"$root/etc/OpenCL/vendors/intel64.icd"
    environment+=("LD_LIBRARY_PATH=$toolkit" "CPATH=$toolkit" "CPLUS_INCLUDE_PATH=$toolkit" "PYTHONPATH=$toolkit"
        "OCL_ICD_FILENAMES=$toolkit/libintelocl.so")
fi

inside() {
    local start=$SECONDS status=0
    chroot --userspec="$user" "$root" /usr/bin/env -i -C "$workdir" "${environment[@]}" "$@" || status=$?
    echo "== exit status $status after $((SECONDS - start)) s"
    return "$status"
}

# The Dockerfile, one instruction a line.
sed -e ':again' -e '/\\$/{N;s/\\\n *//;b again' -e '}' "$dockerfile" | grep -v -e '^#' -e '^$' >"$root/instructions"
while read -r instruction rest <&3; do
    echo "== $instruction $rest"
    case $instruction in
        FROM) ;;
        ARG)
            environment+=("$rest")
            for argument in ${build_args[@]+"${build_args[@]}"}; do
                [ "${argument%%=*}" != "${rest%%=*}" ] || environment+=("$argument")
            done
            ;;
        ENV) read -ra words <<<"$rest" && environment+=("${words[@]}") ;;
        WORKDIR) workdir=$rest && mkdir -p "$root$workdir" ;;
        COPY)
            [[ $rest =~ ^(--chown=([a-z_]+)\ )?\.\ \.$ ]] ||
                { echo "check_in_chroot.sh: only COPY [--chown=USER] . . is known, got $rest" >&2 && exit 2; }
            git ls-files -coz --exclude-standard | tar --null -T - -c | tar -x -C "$root$workdir"
            [ -z "${BASH_REMATCH[2]}" ] || chroot "$root" chown -R "${BASH_REMATCH[2]}" "$workdir"
            ;;
        USER)
            user=$rest && environment+=("HOME=/home/$user")
            # pip's settings were bound for root.
            mkdir -p "$root/home/$user/.config/pip"
            [ ! -d "$HOME/.config/pip" ] || mount --bind -o ro "$HOME/.config/pip" "$root/home/$user/.config/pip"
            ;;
        RUN) inside sh -c "$rest" ;;
        CMD | HEALTHCHECK)
            rest=${rest#*CMD }
            mapfile -t words < <(python3 -c 'import json, sys; print(*json.loads(sys.argv[1]), sep="\n")' "$rest")
            inside "${words[@]}"
            ;;
        *) echo "check_in_chroot.sh: unknown instruction $instruction" >&2 && exit 2 ;;
    esac
done 3<"$root/instructions"

for command in "$@"; do
    echo "== docker run ... $command"
    inside sh -c "$command"
done
