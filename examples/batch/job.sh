#!/bin/bash
# One batch job: create the environment, run an example, on a GPU if there is one, and keep the log.
# usage: examples/batch/job.sh [EXAMPLE [ARGUMENT...]]     (default: train_digits.py)
# Environment variables (sbatch --export=ALL,NAME=..., qsub -v NAME=...), all optional:
#   MODULES="a b"  to `module load` first      PYTHON=...  interpreter that creates the environment
#   VENV=FOLDER    the environment (.venv); an existing one without our marker is used unchanged
#   TASKS=FILE     a job of an array reads its arguments from the line of its number, counted from 1
#   TASK=N         that number, if no scheduler sets it
#   SETTINGS=FILE  lines NAME=VALUE of any of these, as bash reads them: `qsub -v` may lose values with spaces
#   QSUB="-q a"    options with which qsub gets the job again; this script does not see its command line
#   MINUTES=N      minutes after which the example is told to stop, as by Slurm's --signal before its limit
# An example that ends with status 75 has steps left: the job is submitted again, at most AGAIN times (20).
set -eu -o pipefail
cd "$(dirname "$0")/../.."

if [ -n "${SETTINGS:-}" ]; then
    set -a
    # shellcheck source=/dev/null
    . "$SETTINGS"
    set +a
fi
venv=${VENV:-.venv}
job=${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-${PBS_JOBID:-local-$$}}}
task=${TASK:-${SLURM_ARRAY_TASK_ID:-${PBS_ARRAY_INDEX:-${PBS_ARRAYID:-}}}}
again=${AGAIN:-20}

if [ -n "${TASKS:-}" ]; then
    read -ra words < <(sed -n "${task:?TASKS is set, and no scheduler said which task this is}p" "$TASKS")
    set -- "$@" ${words[@]+"${words[@]}"}
fi
example=${1:-train_digits.py}
shift $(($# > 0))

mkdir -p logs
log=logs/$(basename "$example" .py)-${job//[^A-Za-z0-9._-]/_}${task:+_$task}.log

# Sites provide compilers and interpreters as modules; without MODULES nothing is loaded.
load_modules() {
    local name
    for name in ${MODULES:-}; do
        module load "$name"
    done
}

# Jobs that start at the same time wait here for the first one to install.
make_environment() {
    local installed=$venv/examples-installed
    flock 9
    [ ! -x "$venv/bin/python" ] || [ -e "$installed" ] || return 0
    if [ ! -e "$installed" ] || [ -n "$(find pyproject.toml CMakeLists.txt cmake csrc -newer "$installed")" ]; then
        echo "making the environment in $venv"
        "${PYTHON:-python3}" -m venv "$venv"
        "$venv/bin/pip" install --quiet -e ".[examples]"
        touch "$installed"
    fi
} 9>logs/.lock

report_device() {
    [ -z "${ONEAPI_DEVICE_SELECTOR:-}" ] || echo "ONEAPI_DEVICE_SELECTOR=$ONEAPI_DEVICE_SELECTOR is kept as set"
    "$venv/bin/python" - <<'END'
import sycl_dnn

device = sycl_dnn.default_queue().sycl_device
print("device:", "GPU" if device.is_gpu else "CPU (no GPU seen)", device.name.strip(), device.driver_version)
END
}

# Signals from schedulers to this shell are forwarded to the example, and its status is ours.
run_example() {
    local child timer='' status=0
    "$venv/bin/python" "examples/$example" "$@" &
    child=$!
    trap 'kill -USR1 $child' USR1 TERM
    if [ -n "${MINUTES:-}" ]; then
        (sleep $((MINUTES * 60)) && kill -USR1 "$child") >logs/.timer 2>&1 9>&- &
        timer=$!
    fi
    # A wait that is ended by a signal says nothing about the child.
    while wait "$child" || status=$?; ((status > 128)) && kill -0 "$child" 2>>logs/.timer; do
        status=0
    done
    trap - USR1 TERM
    [ -z "$timer" ] || kill "$timer" 2>>logs/.timer || true
    return "$status"
}

# By files: values and words with spaces do not survive `qsub -v` everywhere.
submit_to_pbs() {
    local file=logs/again-${job//[^A-Za-z0-9._-]/_}${task:+_$task} name words
    AGAIN=$((again - 1))
    for name in AGAIN MINUTES VENV PYTHON MODULES QSUB ONEAPI_DEVICE_SELECTOR; do
        [ -z "${!name:-}" ] || printf '%s=%q\n' "$name" "${!name}"
    done >"$file.settings"
    echo "$example $*" >"$file"
    read -ra words <<<"${QSUB:-}"
    qsub ${words[@]+"${words[@]}"} -v "SETTINGS=$file.settings,TASKS=$file,TASK=1" examples/batch/train_digits.pbs
}

submit_again() {
    if [ -n "${SLURM_JOB_ID:-}" ]; then
        scontrol requeue "$SLURM_JOB_ID"
    elif [ -n "${PBS_JOBID:-}" ]; then
        submit_to_pbs "$@"
    else
        echo "no scheduler: run it once more by hand"
        return 75
    fi
}

main() {
    local status=0
    echo "job $job${task:+, task $task} on $(hostname), $(date)"
    load_modules
    make_environment
    report_device
    run_example "$@" || status=$?
    ((status != 75)) && return "$status"
    if ((${SLURM_RESTART_COUNT:-0} >= again)); then
        echo "steps are left after $again more jobs"
        return 75
    fi
    submit_again "$@"
}

exec > >(tee -a "$log") 2>&1
main "$@"
