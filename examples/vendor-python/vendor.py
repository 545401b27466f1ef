#!/usr/bin/env python3
"""The vendor's side of the Storage API v1, with only Python's standard library.

Volumes are sparse files in a directory, attached through loop devices of this machine. The server listens on loopback.
README.md lists the environment variables.
"""

import hmac
import json
import os
import re
import signal
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from problem import Problem
from schema import check
from storage import Storage

MAX_BODY = 4 * 1024 * 1024
DOCUMENT = json.loads(Path(os.environ.get("OPENAPI", Path(__file__).parent / "openapi.json")).read_text())
SCHEMAS = DOCUMENT["components"]["schemas"]


class Operation:
    """A method on a path of the OpenAPI document."""

    def __init__(self, path, method, row, shared):
        self.id, self.method = row["operationId"], method.upper()
        self.pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path) + r"\Z")
        self.parameters = shared + row.get("parameters", [])
        self.body = row.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")


OPERATIONS = [
    Operation(path, method, row, item.get("parameters", []))
    for path, item in DOCUMENT["paths"].items()
    for method, row in item.items()
    if method != "parameters"
]


class Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests, one after another."""

    protocol_version = "HTTP/1.1"
    wbufsize = 64 * 1024
    storage: Storage
    token: str

    def answer(self):
        """Reads the whole request, even if it is refused, so that the next request on the connection can be read."""
        try:
            body = self.read_body()
            self.authenticate()
            status, document = self.run_operation(body)
        except Problem as problem:
            status, document = problem.status, problem.document()
        except (ConnectionError, TimeoutError):
            self.close_connection = True
            return
        except Exception as error:  # the work may be half done
            print(f"{self.command} {self.path}: {error!r}", file=sys.stderr)
            problem = Problem("UNAVAILABLE", "the request failed; send it again")
            status, document = problem.status, problem.document()
        self.send(status, document)

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = answer

    def authenticate(self):
        given = self.headers.get("authorization", "").encode()
        wanted = f"Bearer {self.token}".encode()
        if self.token and not hmac.compare_digest(given, wanted):
            raise Problem("UNAUTHENTICATED", "the bearer token is missing or not valid")

    def run_operation(self, body):
        url = urlsplit(self.path)
        for operation in OPERATIONS:
            found = operation.pattern.match(url.path) if operation.method == self.command else None
            if found:
                run = getattr(self.storage, operation.id, None)
                if run is None:
                    raise Problem("UNIMPLEMENTED", f"{operation.id} is not offered")
                request = read_request(operation, found.groupdict(), url.query, body)
                return (204, None) if request is None else self.storage.run(run, request)
        raise Problem("NOT_FOUND", f"there is no operation {self.command} {url.path}")

    def read_body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            return self.read_chunks()
        length = self.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True
            raise Problem("INVALID_ARGUMENT", f"the content length {length!r} is not from 0 to {MAX_BODY}")
        return self.read_exactly(int(length))

    def read_chunks(self):
        parts, total = [], 0
        while True:
            line = self.rfile.readline(1024).split(b";")[0].strip()
            if not re.match(rb"[0-9A-Fa-f]{1,8}\Z", line):
                raise ConnectionError("the request was cut off")
            size = int(line, 16)
            total += size
            if total > MAX_BODY:
                self.close_connection = True
                raise Problem("INVALID_ARGUMENT", f"the body has more than {MAX_BODY} bytes")
            parts.append(self.read_exactly(size))
            if size == 0:
                while self.rfile.readline(1024).strip():
                    pass
                return b"".join(parts)
            self.rfile.readline(1024)

    def read_exactly(self, length):
        """Raises ConnectionError for a truncated request, which must not be carried out."""
        data = self.rfile.read(length)
        if len(data) < length:
            raise ConnectionError("the request was cut off")
        return data

    def send(self, status, document):
        data = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        if data:
            kind = "application/problem+json" if status >= 400 else "application/json"
            self.send_header("content-type", kind)
        if status == 401:
            self.send_header("www-authenticate", "Bearer")
        if status != 204:
            self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_error(self, code, message=None, explain=None):
        """Answers a request that is not valid HTTP, or has an unknown method, with a problem document."""
        self.close_connection = True
        problem = Problem("NOT_FOUND" if code == 501 else "INVALID_ARGUMENT", message or "the request is not valid HTTP")
        self.send(problem.status, problem.document())

    def log_message(self, *_):
        """Logs no requests."""


def read_request(operation, ids, query, body):
    """Reads a request and checks it against the document; None for the deletion of an impossible id."""
    request, texts = {}, {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in texts:
            raise Problem("INVALID_ARGUMENT", f"the query has {name} twice")
        texts[name] = value
    for one in operation.parameters:
        name, schema = one["name"], one["schema"]
        if one["in"] == "path":
            request[name] = unquote(ids[name], errors="replace")
            fault = check(schema, request[name], SCHEMAS, name)
            if fault and operation.method == "DELETE":
                return None
            if fault:
                raise Problem("NOT_FOUND" if operation.method == "GET" else "INVALID_ARGUMENT", fault)
        # An empty text means no value; an empty number is an error.
        elif one["in"] == "query" and (texts.get(name) or name in texts and schema.get("type") == "integer"):
            number = schema.get("type") == "integer" and re.match(r"-?[0-9]+\Z", texts[name])
            request[name] = int(texts[name]) if number else texts[name]
            require_valid(schema, request[name], name)
    if operation.body:
        request["body"] = parse_body(body)
        require_valid(operation.body, request["body"], "the body")
    return request


def parse_body(body):
    try:
        return json.loads(body.decode(), parse_constant=lambda text: float("nan"))
    except (ValueError, RecursionError) as error:
        raise Problem("INVALID_ARGUMENT", f"the body is not JSON: {error}") from error


def require_valid(schema, value, name):
    fault = check(schema, value, SCHEMAS, name)
    if fault:
        raise Problem("INVALID_ARGUMENT", fault)


class Server(ThreadingHTTPServer):
    """A server with a thread for each connection, so that a slow one does not delay the others."""

    request_queue_size = 128

    def handle_error(self, request, client_address):
        print(f"a connection ended: {sys.exc_info()[1]!r}", file=sys.stderr)


def main():
    env = os.environ
    cert, authority = env.get("TLS_CERT"), env.get("TLS_CLIENT_CA")
    Handler.token = env.get("TOKEN", "")
    if not (cert and authority) and (authority or not Handler.token):
        sys.exit("no callers can be authenticated: set TOKEN, or TLS_CERT, TLS_KEY and TLS_CLIENT_CA")
    Handler.storage = Storage(Path(env.get("DIR", "data")), int(env.get("CAPACITY", 100 * 2**30)))
    server = Server(("127.0.0.1", int(env.get("PORT", 0))), Handler)
    if cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, env.get("TLS_KEY"))
        if authority:
            context.load_verify_locations(authority)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    scheme = "https" if cert else "http"
    print(f"listening on {scheme}://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
