#!/bin/bash
# One batch job: make the environment, run an example on the GPU where there is one, keep the log.
# usage: examples/batch/job.sh [EXAMPLE [ARGUMENT...]]     (default: train_digits.py)
set -eu -o pipefail
cd "$(dirname "$0")/../.."

example=${1:-train_digits.py}
shift $(($# > 0))
job=${SLURM_JOB_ID:-${PBS_JOBID:-local-$$}}
mkdir -p logs
log=logs/$(basename "$example" .py)-$job.log

# Jobs that start together wait here for the first one to install.
make_environment() {
    flock 9
    installed=.venv/examples-installed
    if [ ! -e $installed ] || [ -n "$(find pyproject.toml CMakeLists.txt cmake csrc -newer $installed)" ]; then
        echo "making the environment in .venv"
        python3 -m venv .venv
        .venv/bin/pip install --quiet -e ".[examples]"
        touch $installed
    fi
} 9>logs/.lock

report_device() {
    [ -z "${ONEAPI_DEVICE_SELECTOR:-}" ] || echo "ONEAPI_DEVICE_SELECTOR=$ONEAPI_DEVICE_SELECTOR is kept as set"
    .venv/bin/python - <<'EOF'
import sycl_dnn

device = sycl_dnn.default_queue().sycl_device
print("device:", "GPU" if device.is_gpu else "CPU (no GPU seen)", device.name.strip(), device.driver_version)
EOF
}

main() {
    echo "job $job on $(hostname), $(date)"
    make_environment
    report_device
    .venv/bin/python "examples/$example" "$@"
}

main "$@" 2>&1 | tee "$log"
