import { outageOf, predicateOf, reasonOf } from '../lib/words/failures.ts';
import { createExchange } from '#exchange';
import { pause, unlessAborted } from '../lib/concurrency.ts';
import { maxTimerMs } from '../lib/numbers.ts';
import type { Observer } from '../tracing/trace.ts';
import type { ExchangeOptions, Reply } from './http/exchange.ts';
import { toPrintable } from './http/printable.ts';
import { describeIssues } from './schemas/issues.ts';
import { problemSchema, problemsOf, timeoutHeaderName, type NamedOperation } from './operations.ts';
import {
  callerGone,
  type Outage,
  Problem,
  problemTable,
  tooManyRequests,
  unavailableProblem,
  whileObserved,
  withOutage,
} from './problem.ts';

export type Call = {
  readonly deadlineMs: number;
  /** The time when the caller gives up; after it, the API starts no work. Absent: the deadline. */
  readonly wantedUntilMs?: number | undefined;
  readonly requestId?: string;
  /** The trace that the call is part of. */
  readonly traceparent?: string | undefined;
  readonly signal?: AbortSignal;
};

/** The address of the API, the caller's credentials, and the rules for tries. */
export type HttpOptions = ExchangeOptions & {
  /** Returns a bearer token, if any; with `renew` a new one, because the last one was refused. */
  readonly token: (renew: boolean) => string | undefined | Promise<string | undefined>;
  /** The setting that names trusted authorities, for messages; by default `--ca-file`. */
  readonly authoritiesFrom?: string | undefined;
  /** Maximum tries of one request, including the first. All requests of the API may be repeated. */
  readonly tries?: number | undefined;
  /** Runs each try of a request; a Problem that it throws ends the call. */
  readonly guard?: (send: () => Promise<Reply>) => Promise<Reply>;
  /** Observes each call with all of its tries, by its operation's id. */
  readonly observe?: Observer | undefined;
};

/** One request; `ids` are the ids in the path by name, and `body` is sent as JSON. */
export type HttpRequest = {
  readonly operation: NamedOperation;
  readonly path: string;
  readonly ids: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

type OpenCall = ReturnType<typeof openCall>;

const defaultTries = 4;
const firstPauseMs = 50;

/** The statuses which, together with Retry-After, mean that nothing was done and the request may be repeated. */
const retryStatuses: ReadonlySet<number> = new Set([tooManyRequests, 503]);
/** Maximum Retry-After that is passed on, in seconds. */
const maxRetryS = 3_600;

/** The first and the maximum pause before a request that was answered with 202 is sent again, in milliseconds; it doubles. */
const firstPollMs = 250;
const maxPollMs = 5_000;

/**
 * Creates the HTTP side of the client. Within its deadline a request is repeated after connection failures and after 429 and 503
 * with Retry-After, and once with a new token after 401. A failure without a problem document is UNAVAILABLE.
 */
export function createHttp(options: HttpOptions) {
  const { tries: maxTries = defaultTries, guard = send => send(), requestTimeoutMs = Infinity } = options;
  const exchange = createExchange(options);

  async function trySend(request: HttpRequest, call: OpenCall, renew: boolean): Promise<Reply> {
    const { operation, path, body } = request;
    const given = options.token(renew);
    const token = typeof given === 'object' ? await unlessAborted(call.signal, given) : given;
    // The server must answer before the deadline, so a second, or half of a short request timeout, is for the way.
    const leftMs = Math.min(call.deadlineMs - Date.now() - 1_000, requestTimeoutMs / 2);
    const waitS = Math.max(0, Math.floor(leftMs / 1_000));
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      prefer: `wait=${waitS}`,
      ...timeoutHeader(call),
      ...(call.requestId !== undefined && { 'x-request-id': call.requestId }),
      ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const text = body === undefined ? null : JSON.stringify(body);
    const message = { method: operation.method, path, headers, body: text };
    const reply = await guard(() => exchange.send(message, call.signal));
    return token !== undefined && reply.status >= 400 ? withoutToken(reply, token) : reply;
  }

  async function sendWithRetries(request: HttpRequest, call: OpenCall): Promise<Reply> {
    let renew = false;
    for (let tries = 1; ; tries++) {
      let pauseMs = firstPauseMs * 2 ** (tries - 1) * (0.5 + Math.random());
      const mayRetry = (): boolean => tries < maxTries && Date.now() + pauseMs < call.deadlineMs;
      try {
        const reply = await trySend(request, call, renew);
        if (reply.status === 401 && !renew) {
          renew = true;
          continue;
        }
        // Without Retry-After the pause becomes NaN, so `mayRetry` is false.
        pauseMs = Math.max(reply.retryAfterMs, pauseMs);
        if (!retryStatuses.has(reply.status) || !mayRetry()) return reply;
      } catch (error) {
        if (call.signal.aborted || error instanceof Problem || !mayRetry()) throw error;
      }
      await pause(pauseMs, call.signal);
    }
  }

  async function sendUntilDone(request: HttpRequest, call: Call): Promise<unknown> {
    const opened = openCall(call, options.url);
    const sent = { ...request, url: options.url };
    try {
      for (let pollMs = firstPollMs; ; pollMs = Math.min(2 * pollMs, maxPollMs)) {
        const reply = await sendWithRetries(request, opened);
        const answer = readAnswer(reply, sent);
        if (reply.status !== 202) return answer;
        const pauseMs = Math.max(pollMs, reply.retryAfterMs || 0);
        if (Date.now() + pauseMs + pollMs >= call.deadlineMs)
          throw new Problem('ABORTED', 'the operation is still running; the same call joins it');
        await pause(pauseMs, opened.signal);
      }
    } catch (error) {
      throw toProblem(error, opened.signal, options);
    } finally {
      opened.close();
    }
  }

  return {
    /** Returns the final answer of the operation; ABORTED if it still runs shortly before the deadline. */
    send(request: HttpRequest, call: Call): Promise<unknown> {
      const observed = options.observe?.(request.operation.id, call.traceparent);
      if (!observed) return sendUntilDone(request, call);
      const { traceparent } = observed;
      return whileObserved(observed, () => sendUntilDone(request, { ...call, traceparent }));
    },
    /** Ends all connections at once; running calls fail with UNAVAILABLE. */
    close: () => exchange.close(),
  };
}

function timeoutHeader({ wantedUntilMs, deadlineMs }: Call): Readonly<Record<string, string>> {
  const leftMs = Math.ceil((wantedUntilMs ?? deadlineMs) - Date.now());
  return leftMs > 0 && leftMs <= maxTimerMs ? { [timeoutHeaderName]: String(leftMs) } : {};
}

function originOf({ url }: Pick<HttpOptions, 'url'>): string {
  return new URL(url).origin;
}

/** A failure of the connection or of the token has a cause, so that a gateway hides the address in it from clusters. */
function lateProblem(url: string, waitedMs: number): Problem {
  const time = waitedMs > 0 ? `within ${Math.ceil(waitedMs / 100) / 10} s` : 'in time';
  const detail = `the storage API at "${originOf({ url })}" did not answer ${time}; check the address, the server and its log, and the network on the way`;
  const problem = new Problem('DEADLINE_EXCEEDED', detail, { code: 'ETIMEDOUT' });
  return withOutage(problem, 'silent');
}

/** Starts a call, or throws if it is over already. `signal` fires at its end with the reason; `close` frees its timer. */
function openCall(call: Call, url: string) {
  const leftMs = call.deadlineMs - Date.now();
  if (call.signal?.aborted) throw callerGone;
  if (!(leftMs > 0)) throw lateProblem(url, 0);
  // AbortSignal.any and .timeout would live until a major garbage collection, so each call has its own controller and timer.
  const end = new AbortController();
  const cancel = (): void => end.abort(callerGone);
  const timer = setTimeout(() => end.abort(lateProblem(url, leftMs)), Math.min(leftMs, maxTimerMs));
  call.signal?.addEventListener('abort', cancel);
  return {
    ...call,
    signal: end.signal,
    close(): void {
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', cancel);
    },
  };
}

/** Removes the token from a refusal that repeats it, so that it does not get into events and logs. */
function withoutToken(reply: Reply, token: string): Reply {
  const text = JSON.stringify(reply.body) ?? '';
  if (token === '' || !text.includes(token)) return reply;
  return { ...reply, body: JSON.parse(text.replaceAll(token, '…')) as unknown };
}

type SentRequest = HttpRequest & Pick<HttpOptions, 'url'>;

/** Parses an answer by the schema of the operation. Anything else, such as a proxy's page with status 200, is malformed. */
function readAnswer(reply: Reply, request: SentRequest): unknown {
  const { status, body } = reply;
  // Any object may be a faulty answer of the API itself.
  const outage = typeof body === 'object' && body !== null ? 'errors' : 'foreign';
  if (status < 200 || status > 299) {
    const problem = readProblem(reply, request);
    throw withRetryAfter(withOutage(problem, problem.outage ?? 'errors'), reply);
  }
  const schema = request.operation.answers[status as 200];
  if (schema === undefined) throw malformedProblem(request, `status ${status}, which it never has`, outage);
  if (schema === null || (status === 202 && body === undefined)) return undefined;
  const { success, data, error } = schema.safeParse(body);
  if (success) return requireSameIds(data, request);
  const [fault = 'body: is not JSON'] = describeIssues(error, at => at.join('.') || 'body');
  throw malformedProblem(request, fault, outage);
}

/** UNAVAILABLE if an answer, final or not, is of another object than the path: each id must match by its name or as `id`. */
function requireSameIds(answer: unknown, request: HttpRequest): unknown {
  const found = answer as Readonly<Record<string, unknown>>;
  for (const [name, asked] of Object.entries(request.ids)) {
    const key = name in found ? name : 'id';
    if (key in found && found[key] !== asked)
      throw malformedProblem(
        request,
        `${key} is ${JSON.stringify(found[key])}, not ${JSON.stringify(asked)}`,
      );
  }
  return answer;
}

/** Makes the problem, UNAVAILABLE, of an answer that does not fit its request and so does not tell the outcome. */
export function malformedProblem(
  { operation, path }: HttpRequest,
  found: string,
  outage: Outage = 'errors',
): Problem {
  const asked = `${operation.method} ${path}`;
  const detail = `the storage API gave a malformed answer to ${asked} (${toPrintable(found)})`;
  return withOutage(unavailableProblem(detail), outage);
}

/** Codes and statuses about the client's own token. They are not final, since an earlier try may have started the operation. */
const tokenRefused: ReadonlySet<unknown> = new Set([401, 403, 'UNAUTHENTICATED', 'PERMISSION_DENIED']);

function readProblem({ status, body }: Pick<Reply, 'status' | 'body'>, request: SentRequest): Problem {
  const at = `the storage API at "${originOf(request)}"`;
  const { data: found } = problemSchema.safeParse(body);
  const data = found && { ...found, detail: toPrintable(found.detail) };
  if (tokenRefused.has(status) || tokenRefused.has(data?.code)) {
    const reason =
      data?.detail ?? `status ${status}; check the token or its key, and that the server knows it`;
    return new Problem('UNAVAILABLE', `${at} does not accept the token: ${reason}`, { status });
  }
  if (status === tooManyRequests)
    return new Problem(
      'UNAVAILABLE',
      data?.code === 'UNAVAILABLE' ? data.detail : 'the storage API asks for fewer calls',
    );
  if (!data) return unexplainedProblem(status, at);
  // A final code ends retries, so it must be one that the operation documents.
  if (problemTable[data.code].final && !problemsOf(request.operation).includes(data.code))
    return malformedProblem(request, `${data.code}, which it never has: ${data.detail}`);
  return new Problem(data.code, data.detail);
}

/** Makes the problem of a failure without a problem document. Only a server error may be the storage's own. */
function unexplainedProblem(status: number, at: string): Problem {
  if (status >= 500)
    return unavailableProblem(
      `${at} answered with status ${status} and no reason; look at its log, and at that of a proxy in front of it`,
      { status },
    );
  const remedy =
    status >= 300 && status <= 399
      ? 'give the address that it redirects to'
      : 'check the address, and the proxy or other server there';
  const detail = `something in front of ${at} answered with status ${status}; ${remedy}`;
  return withOutage(unavailableProblem(detail, { status }), 'foreign');
}

/** Adds the server's Retry-After to an UNAVAILABLE problem. */
function withRetryAfter(problem: Problem, { status, retryAfterMs }: Reply): Problem {
  if (problem.code !== 'UNAVAILABLE' || !retryStatuses.has(status) || !(retryAfterMs > 0)) return problem;
  return Object.assign(problem, { retryAfterS: Math.min(Math.ceil(retryAfterMs / 1_000), maxRetryS) });
}

/** Makes the `Problem` of a failed call. If the call has ended, that is the reason, since it causes other errors. */
function toProblem(error: unknown, signal: AbortSignal, { url, authoritiesFrom }: HttpOptions): Problem {
  if (error instanceof Problem) return error;
  if (signal.aborted) return signal.reason as Problem;
  const predicate = predicateOf(error, authoritiesFrom);
  const reason = `"${originOf({ url })}" ${predicate ?? `fails: ${reasonOf(error)}`}`;
  const outage = outageOf(error);
  const verb = outage === 'silent' ? 'reached' : 'used';
  return withOutage(unavailableProblem(`the storage API cannot be ${verb}: ${reason}`, error), outage);
}
