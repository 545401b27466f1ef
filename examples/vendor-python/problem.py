"""The errors of the API."""

STATUSES = {
    "INVALID_ARGUMENT": 400,
    "UNAUTHENTICATED": 401,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "FAILED_PRECONDITION": 409,
    "OUT_OF_RANGE": 416,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "RESOURCE_EXHAUSTED": 507,
}


class Problem(Exception):
    """An error with a code. Any other exception is answered as UNAVAILABLE, because the work may be half done."""

    def __init__(self, code, detail):
        super().__init__(detail)
        self.code, self.status = code, STATUSES[code]

    def document(self):
        return {"status": self.status, "code": self.code, "detail": str(self)}
