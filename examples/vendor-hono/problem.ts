const ofRequests = { INVALID_ARGUMENT: 400, UNAUTHENTICATED: 401, NOT_FOUND: 404, OUT_OF_RANGE: 416 };
const ofConflicts = { ABORTED: 409, ALREADY_EXISTS: 409, FAILED_PRECONDITION: 409 };
const ofServers = { UNIMPLEMENTED: 501, UNAVAILABLE: 503, RESOURCE_EXHAUSTED: 507 };
const statuses = { ...ofRequests, ...ofConflicts, ...ofServers };

/** What is wrong with a request. Whatever else is thrown is UNAVAILABLE: the work may be half done. */
export class Problem extends Error {
  readonly code: keyof typeof statuses;
  constructor(code: keyof typeof statuses, detail: string) {
    super(detail);
    this.code = code;
  }
  toResponse(): Response {
    const [status, type] = [statuses[this.code], 'application/problem+json'];
    const headers = { 'content-type': type, ...(status === 401 && { 'www-authenticate': 'Bearer' }) };
    return Response.json({ status, code: this.code, detail: this.message }, { status, headers });
  }
}
