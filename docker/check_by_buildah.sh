#!/bin/bash
# Build docker/Dockerfile without a daemon (Debian's buildah and debootstrap, as root) and try each image.
# usage: docker/check_by_buildah.sh [--wheel out/wheels/dist/NAME.whl] [--extras NAMES] [TARGET...]     (default: run jupyter develop)
# Several processes are tried in the image `run` if the extra `distributed` is among NAMES (EXTRAS of the Dockerfile).
# Debian 12 with its own Python stands in for the FROM image. pip's settings and certificates are those of this machine.
set -eu -o pipefail
cd "$(dirname "$0")/.."

wheel=
if [ "${1:-}" = --wheel ]; then wheel=$2 && shift 2; fi
extras=examples,io
if [ "${1:-}" = --extras ]; then extras=$2 && shift 2; fi
targets=("$@")
((${#targets[@]})) || targets=(run jupyter develop)
store=${STORE:-$(mktemp -d)}
mkdir -p "$store"
[ -n "${STORE:-}" ] || trap 'rm -rf "$store"' EXIT
base=localhost/python:3.12-slim-bookworm

b() { buildah --root "$store/images" --runroot "$store/run" "$@"; }

settings=()
for path in /etc/pip.conf /etc/ssl/certs "$HOME/.config/pip"; do
    [ ! -e "$path" ] || settings+=(--volume "$path:${path/#$HOME//root}:ro")
done
for name in $(compgen -e | grep -E '^(PIP_.*|[a-z]*_proxy|SSL_CERT_FILE)$'); do settings+=(--env "$name=${!name}"); done

make_base() {
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$store/root" >"$store/log"
    local c
    c=$(b from scratch)
    b add -q "$c" "$store/root" /
    b config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$c"
    b commit -q --rm "$c" "$base"
}

# In a container of the image, as its own user.
inside() {
    local c=$1
    shift
    b run --isolation chroot --env HOME=/home/sycl_dnn "$c" -- "$@"
}

try_image() {
    local target=$1 c start=$SECONDS
    b bud --format docker --isolation chroot --layers "${settings[@]}" --build-arg "PYTHON_IMAGE=$base" --build-arg "WHEEL=$wheel" --build-arg "EXTRAS=$extras" \
        --ignorefile docker/Dockerfile.dockerignore --target "$target" -t "sycl_dnn:$target" -f docker/Dockerfile .
    c=$(b from "sycl_dnn:$target")
    echo "== $target, $((SECONDS - start)) s, user $(inside "$c" id -u), $(b images --format '{{.Size}}' "sycl_dnn:$target")"
    inside "$c" python -c "from sycl_dnn import functional as F; assert float(F.relu(F.ones(4)).sum()) == 4; print('healthy')"
    case $target in
        run)
            # shellcheck disable=SC2016  # expanded in the container
            inside "$c" sh -c 'for tool in cc c++ g++ ld; do ! command -v $tool || exit 1; done; echo "no compiler"'
            inside "$c" python examples/train_digits.py | tail -n 1
            [[ $extras != *distributed* ]] ||
                inside "$c" python -m sycl_dnn launch -n 2 examples/train_digits_distributed.py --distributed | tail -n 2
            ;;
        jupyter) inside "$c" python -m jupyterlab --version ;;
        develop) inside "$c" sh -c 'g++ --version | head -n 1 && cd .. && python -m pytest -q -p no:cacheprovider source/tests/test_device.py' ;;
    esac
    b rm "$c" >"$store/log"
}

b images -q "$base" >"$store/log" 2>&1 || make_base
for target in "${targets[@]}"; do try_image "$target"; done
