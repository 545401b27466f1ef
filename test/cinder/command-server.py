"""Runs the commands of Cinder's driver in the virtual machine that has the volumes, one at a time."""

import contextlib
import io
import subprocess
import traceback
from multiprocessing.connection import Listener

from cinder.cmd import rtstool


def run_rtstool(command):
    """Runs Cinder's own program in this process: on emulated processors its start takes 15 seconds."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status = rtstool.main(command)
        except BaseException:
            status = 1
            traceback.print_exc()
    return [status, output.getvalue(), errors.getvalue()]


def run(command):
    if command[0] == "cinder-rtstool":
        return run_rtstool(command)
    done = subprocess.run(command, capture_output=True, text=True)
    return [done.returncode, done.stdout, done.stderr]


listener = Listener(("", 7000), backlog=64)
while True:
    # A caller may have given up, such as one from before the machine had started.
    with contextlib.suppress(EOFError, ConnectionError), listener.accept() as caller:
        command = caller.recv()
        answer = run(command)
        print(command, answer, flush=True)
        caller.send(answer)
