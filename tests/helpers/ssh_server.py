# SPDX-License-Identifier: Apache-2.0
"""An ssh server on this machine: its port, keys and settings in a folder."""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

#: The folder in which OpenSSH's server drops its privileges; the system's service creates it.
_EMPTY_FOLDER = Path("/run/sshd")

_SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
AllowUsers {user}
StrictModes no
UsePAM no
PidFile none
"""
_CLIENT = """\
IdentityFile {folder}/user_key
IdentitiesOnly yes
UserKnownHostsFile {folder}/known_hosts
GlobalKnownHostsFile none
LogLevel ERROR
"""


def server_program():
    """Return the path of sshd, which must be started by its full path."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    result = shutil.which("sshd", path=path)
    if result is None or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        pytest.skip("openssh-server and openssh-client are not installed")
    return result


@contextlib.contextmanager
def ssh_server(folder):
    """Run a server; yield its port, and the command to run a line in the shell of a host."""
    program = server_program()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for name in ("host_key", "user_key"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(make, check=True, timeout=600)
    key = (folder / "host_key.pub").read_text()
    hosts = ",".join(f"[{name}]:{port}" for name in ("localhost", "127.0.0.1"))
    (folder / "known_hosts").write_text(f"{hosts} {key}")
    result = {"folder": folder, "port": port, "user": getpass.getuser()}
    (folder / "server").write_text(_SERVER.format(**result))
    (folder / "client").write_text(_CLIENT.format(**result))
    with _empty_folder(), open(folder / "log", "w") as log:
        server = subprocess.Popen([program, "-D", "-e", "-f", str(folder / "server")], stderr=log)
        try:
            _wait_for(server, port, folder / "log")
            yield port, f"ssh -F {folder / 'client'} -o BatchMode=yes"
        finally:
            server.terminate()
            server.wait(600)


@contextlib.contextmanager
def _empty_folder():
    """Create the folder for a server that runs as root, if no service has created it."""
    if os.getuid() or _EMPTY_FOLDER.exists():
        yield
        return
    _EMPTY_FOLDER.mkdir(mode=0o755)
    try:
        yield
    finally:
        _EMPTY_FOLDER.rmdir()


def _wait_for(server, port, log):
    """Wait until the server responds."""
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port), timeout=600).close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(0.05)
            raise RuntimeError(f"sshd ended: {log.read_text()}")
