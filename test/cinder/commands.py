"""Runs the commands of Cinder's driver in the virtual machine that has the volumes, one at a time."""

import contextlib
import http.server
import io
import json
import subprocess
import traceback

from cinder.cmd import rtstool


def run_rtstool(command):
    """Runs Cinder's own program in this process: on emulated processors its start takes half a minute."""
    output, errors = io.StringIO(), io.StringIO()
    status = 1
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status = rtstool.main(command)
        except SystemExit as end:
            status = end.code
        except Exception:
            traceback.print_exc()
    return [status, output.getvalue(), errors.getvalue()]


def run(command):
    if command[0] == "cinder-rtstool":
        return run_rtstool(command)
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as missing:
        return [127, "", str(missing)]
    return [done.returncode, done.stdout, done.stderr]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        command = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = run(command)
        print(command, answer, flush=True)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        pass


http.server.HTTPServer(("", 7000), Handler).serve_forever()
