import { createExchange } from '#exchange';
import { longestTimerMs, pause, unlessAborted } from '../lib/concurrency.ts';
import type { Observe } from '../lib/tracing/trace.ts';
import type { ExchangeOptions, Reply } from './http/exchange.ts';
import { problemSchema, problemsOf, timeoutHeaderName, type NamedOperation } from './operations.ts';
import { callerGone, Problem, problemTable, tooManyRequests, whileObserved } from './problem.ts';

/** How long one call may take and how it is known in logs. */
export type Call = {
  readonly deadlineMs: number;
  /** When whoever asked gives up, which the API is told: it begins nothing after that. Absent: at the deadline. */
  readonly wantedUntilMs?: number | undefined;
  readonly requestId?: string;
  /** The trace that the call is part of. */
  readonly traceparent?: string | undefined;
  readonly signal?: AbortSignal;
};

/** Where the API is, and what proves who calls. */
export type HttpOptions = ExchangeOptions & {
  /** A bearer token, or none; `renew` asks for a new one because the last was not accepted. */
  readonly token: (renew: boolean) => string | undefined | Promise<string | undefined>;
  /** Tries at one request, the first included. All requests of the API may be repeated. */
  readonly tries?: number | undefined;
  /** Is asked to send each try of a request; a Problem that it throws ends the call. */
  readonly guard?: (send: () => Promise<Reply>) => Promise<Reply>;
  /** Observes each call by its operation's id, over all of its tries. */
  readonly observe?: Observe | undefined;
};

/** One request; `ids` are those of the path, by their names, and `body` is sent as JSON. */
export type HttpRequest = {
  readonly operation: NamedOperation;
  readonly path: string;
  readonly ids: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

type OpenCall = ReturnType<typeof openCall>;

const usualTries = 4;
const firstPauseMs = 50;

const late = new Problem('DEADLINE_EXCEEDED', 'the storage API did not answer in time');

/** Says, beside Retry-After, that nothing is done yet. */
const mayComeAgain: ReadonlySet<number> = new Set([tooManyRequests, 503]);
/** The longest that is passed on, whatever is asked for. */
const longestRetryS = 3_600;

/** Pauses before a request that was answered with 202 is sent again, in milliseconds; each is twice the one before. */
const firstPollMs = 250;
const longestPollMs = 5_000;

/**
 * Makes the HTTP side of the client. A request is repeated on connection failure, and on 429 and 503 with Retry-After,
 * within its deadline, and once with a new token after 401. A failure that is not a problem document is UNAVAILABLE.
 */
export function createHttp(options: HttpOptions) {
  const { tries: maxTries = usualTries, guard = send => send(), requestTimeoutMs = Infinity } = options;
  const exchange = createExchange(options);

  async function trySend(request: HttpRequest, call: OpenCall, renew: boolean): Promise<Reply> {
    const { operation, path, body } = request;
    const given = options.token(renew);
    const token = typeof given === 'object' ? await unlessAborted(call.signal, given) : given;
    // An answer that is about to come must not be late: of a short time for a request half is for the way.
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
    const asked = { method: operation.method, path, headers, body: text };
    const reply = await guard(() => exchange.send(asked, call.signal));
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
        // Without Retry-After the pause is no number, and there is no other try.
        pauseMs = Math.max(reply.retryAfterMs, pauseMs);
        if (!mayComeAgain.has(reply.status) || !mayRetry()) return reply;
      } catch (error) {
        if (call.signal.aborted || error instanceof Problem || !mayRetry()) throw error;
      }
      await pause(pauseMs, call.signal);
    }
  }

  async function sendUntilDone(request: HttpRequest, call: Call): Promise<unknown> {
    const opened = openCall(call);
    try {
      for (let pollMs = firstPollMs; ; pollMs = Math.min(2 * pollMs, longestPollMs)) {
        const reply = await sendWithRetries(request, opened);
        const answer = readAnswer(reply, request);
        if (reply.status !== 202) return answer;
        const pauseMs = Math.max(pollMs, reply.retryAfterMs || 0);
        if (Date.now() + pauseMs + pollMs >= call.deadlineMs)
          throw new Problem('ABORTED', 'the operation is still running; the same call joins it');
        await pause(pauseMs, opened.signal);
      }
    } catch (error) {
      throw toProblem(error, opened.signal);
    } finally {
      opened.close();
    }
  }

  return {
    /** What the operation answers once it is done; ABORTED when it still runs shortly before the deadline. */
    send(request: HttpRequest, call: Call): Promise<unknown> {
      const observed = options.observe?.(request.operation.id, call.traceparent);
      if (!observed) return sendUntilDone(request, call);
      const { traceparent } = observed;
      return whileObserved(observed, () => sendUntilDone(request, { ...call, traceparent }));
    },
    /** Ends all connections at once; calls that are under way fail with UNAVAILABLE. */
    close: () => exchange.close(),
  };
}

function timeoutHeader({ wantedUntilMs, deadlineMs }: Call): Readonly<Record<string, string>> {
  const leftMs = Math.ceil((wantedUntilMs ?? deadlineMs) - Date.now());
  return leftMs > 0 && leftMs <= longestTimerMs ? { [timeoutHeaderName]: String(leftMs) } : {};
}

/** Begins a call, or throws when it is over; `signal` is its end with the reason, `close` frees its timer. */
function openCall(call: Call) {
  const leftMs = call.deadlineMs - Date.now();
  if (call.signal?.aborted) throw callerGone;
  if (!(leftMs > 0)) throw late;
  // One controller and one timer for a call: signals from AbortSignal.any and .timeout live until a major collection.
  const end = new AbortController();
  const cancel = (): void => end.abort(callerGone);
  const timer = setTimeout(() => end.abort(late), Math.min(leftMs, longestTimerMs));
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

/** What repeats the token that it refuses must not bring it into events and logs. */
function withoutToken(reply: Reply, token: string): Reply {
  const text = JSON.stringify(reply.body) ?? '';
  if (token === '' || !text.includes(token)) return reply;
  return { ...reply, body: JSON.parse(text.replaceAll(token, '…')) as unknown };
}

/** Only an answer that the operation's row documents is one: a page, `{}` or a problem that comes with 200 deletes nothing. */
function readAnswer(reply: Reply, request: HttpRequest): unknown {
  const { status, body } = reply;
  if (status < 200 || status > 299) throw withRetryAfter(readProblem(reply, request), reply);
  const schema = request.operation.answers[status as 200];
  if (schema === undefined) throw malformedProblem(request, `status ${status}, which it never has`);
  if (schema === null || (status === 202 && body === undefined)) return undefined;
  const { success, data, error } = schema.safeParse(body);
  if (success) return requireAsked(data, request);
  const issue = error.issues[0];
  throw malformedProblem(request, `${issue?.path.join('.') || 'body'}: ${issue?.message ?? 'not JSON'}`);
}

/** An answer, also one that comes before the work is done, is of what the path names: by the same name, or as its `id`. */
function requireAsked(answer: unknown, request: HttpRequest): unknown {
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

/** UNAVAILABLE: something came that is no answer to what was asked, and so says nothing of what was done. */
export function malformedProblem({ operation, path }: HttpRequest, found: string): Problem {
  const asked = `${operation.method} ${path}`;
  return new Problem('UNAVAILABLE', `the storage API gave a malformed answer to ${asked} (${found})`);
}

/** Codes and statuses that speak of our own token: they say nothing of the operation, which an earlier try may have begun. */
const tokenRefused: ReadonlySet<unknown> = new Set([401, 403, 'UNAUTHENTICATED', 'PERMISSION_DENIED']);

function readProblem({ status, body }: Pick<Reply, 'status' | 'body'>, request: HttpRequest): Problem {
  const { data } = problemSchema.safeParse(body);
  if (tokenRefused.has(status) || tokenRefused.has(data?.code)) {
    const reason = data?.detail ?? `status ${status}`;
    return new Problem('UNAVAILABLE', `the storage API does not accept the token: ${reason}`);
  }
  if (status === tooManyRequests)
    return new Problem(
      'UNAVAILABLE',
      data?.code === 'UNAVAILABLE' ? data.detail : 'the storage API asks for fewer calls',
    );
  if (!data)
    return new Problem('UNAVAILABLE', `something in front of the storage API answered with status ${status}`);
  // What would be final ends retries, and only the operation's own row says what does.
  if (problemTable[data.code].final && !problemsOf(request.operation).includes(data.code))
    return malformedProblem(request, `${data.code}, which it never has: ${data.detail}`);
  return new Problem(data.code, data.detail);
}

/** Whoever asked for this is told as well when to come again. */
function withRetryAfter(problem: Problem, { status, retryAfterMs }: Reply): Problem {
  if (problem.code !== 'UNAVAILABLE' || !mayComeAgain.has(status) || !(retryAfterMs > 0)) return problem;
  return Object.assign(problem, { retryAfterS: Math.min(Math.ceil(retryAfterMs / 1_000), longestRetryS) });
}

/** What went wrong with a call, as a `Problem`: its end first, since everything else may come from that. */
function toProblem(error: unknown, signal: AbortSignal): Problem {
  if (error instanceof Problem) return error;
  if (signal.aborted) return signal.reason as Problem;
  const { code } = error as NodeJS.ErrnoException;
  return new Problem('UNAVAILABLE', `the storage API cannot be reached${code ? ` (${code})` : ''}`, error);
}
