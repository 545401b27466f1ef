import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from 'fairlead/vendor';
import { reasonOf, signInto, type Environment } from './keystone.ts';

/** A volume or a snapshot as Cinder shows it. */
export type CinderResource = {
  readonly id: string;
  readonly name: string | null;
  readonly status: string;
  /** In GiB. */
  readonly size: number;
  readonly created_at: string;
  readonly updated_at?: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly volume_type?: string | null;
  readonly multiattach?: boolean;
};
export type Kind = 'volume' | 'snapshot';
type Shown = Readonly<Record<Kind, CinderResource>> | undefined;

/** Attachments that are completed by their caller (3.44), with a mode (3.54). */
const microversion = 'volume 3.59';
/** The states of resources on which Cinder works. */
const busyStates = new Set(['creating', 'downloading', 'extending', 'retyping', 'deleting']);
const pollMs = 200;
const timeoutMs = 120_000;

export type Cinder = ReturnType<typeof connectCinder>;

/** Connects to Cinder's API of one project. Every failure that may have changed something is UNAVAILABLE. */
export function connectCinder(env: Environment, maxBusyMs = 600_000) {
  const keystone = signInto(env);

  /** Sends a request; undefined for a missing resource. A refusal is a FAILED_PRECONDITION with Cinder's message. */
  async function send(method: string, path: string, body?: object): Promise<unknown> {
    let response = await once(method, path, body);
    if (response.status === 401) {
      keystone.forget();
      response = await once(method, path, body);
    }
    return response.status === 404 && !body ? undefined : read(response);
  }

  async function once(method: string, path: string, body?: object): Promise<Response> {
    try {
      const { token, endpoint } = await keystone.session();
      return await fetch(`${endpoint}${path}`, {
        method,
        headers: {
          'x-auth-token': token,
          'openstack-api-version': microversion,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (error) {
      keystone.forget();
      if (error instanceof Problem) throw error;
      throw new Problem('UNAVAILABLE', `Cinder does not answer ${method} ${path}: ${reasonOf(error)}`);
    }
  }

  async function list(kind: Kind, query: Readonly<Record<string, string>> = {}): Promise<CinderResource[]> {
    const found: CinderResource[] = [];
    const page = new URLSearchParams(query);
    for (;;) {
      const answer = (await send('GET', `/${kind}s/detail?${page}`)) as Record<string, unknown>;
      found.push(...(answer[`${kind}s`] as CinderResource[]));
      // Cinder's operators choose the size of a page.
      if (!answer[`${kind}s_links`]) return found;
      page.set('marker', found.at(-1)?.id ?? '');
    }
  }

  return {
    send,
    list,

    /** Waits until Cinder's work on a resource ends. UNAVAILABLE if it takes too long. `undefined` once it is gone. */
    async settle(kind: Kind, resource: CinderResource | undefined): Promise<CinderResource | undefined> {
      const deadlineMs = performance.now() + maxBusyMs;
      let found = resource;
      while (found && busyStates.has(found.status)) {
        if (performance.now() > deadlineMs) {
          const fault = `${kind} "${found.name}" is still "${found.status}" at Cinder`;
          throw new Problem('UNAVAILABLE', `${fault}; if cinder-volume died, reset the state of ${found.id}`);
        }
        await sleep(pollMs);
        found = ((await send('GET', `/${kind}s/${found.id}`)) as Shown)?.[kind];
      }
      return found;
    },

    /** Makes the problem of failed work. Without a message of Cinder after `since`, the work may succeed when repeated. */
    async failure(what: string, { id, since }: Failed, code: Problem['code']): Promise<Problem> {
      const answer = (await send('GET', `/messages?resource_uuid=${id}`)) as Messages | undefined;
      const reason = answer?.messages.find(one => one.created_at > (since ?? ''))?.user_message;
      if (reason) return new Problem(code, `Cinder cannot ${what}: ${reason}`);
      return new Problem('UNAVAILABLE', `Cinder did not ${what} and gives no reason; see Cinder's logs`);
    },
  };
}

type Failed = { readonly id: string; readonly since?: string | null | undefined };
type Messages = { readonly messages: readonly Readonly<Record<'user_message' | 'created_at', string>>[] };

async function read(response: Response): Promise<unknown> {
  const text = await response.text();
  if (response.ok) return text === '' ? {} : JSON.parse(text);
  const message = messageIn(text);
  if (response.status === 413) throw new Problem('RESOURCE_EXHAUSTED', `Cinder refuses: ${message}`);
  if ([400, 404, 409].includes(response.status))
    throw new Problem('FAILED_PRECONDITION', `Cinder refuses: ${message}`);
  throw new Problem('UNAVAILABLE', `Cinder answers ${response.status}: ${message}`);
}

/** The message of an error, such as `{"badRequest": {"code": 400, "message": "…"}}`. */
function messageIn(text: string): string {
  try {
    const [fault] = Object.values(JSON.parse(text) as Record<string, { readonly message?: string }>);
    return fault?.message ?? text;
  } catch {
    return text;
  }
}
