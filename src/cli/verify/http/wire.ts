import { allOperations, type NamedOperation, type OperationId } from '../../../api/operations.ts';
import { pause } from '../../../lib/concurrency.ts';
import type { Credentials } from './credentials.ts';
import { exchange, type Exchange, type Outgoing, type Target, type Travel } from './exchange.ts';
import { openProxy, type NetworkFault } from './proxy.ts';

/** The ids, the query and the body of a call, as any operation takes them. */
export type AnyInput = Readonly<Record<string, unknown>>;

/** How one request is sent, where not as usual. */
export type How = {
  /** Sent in place of the caller's own credentials; empty: none. */
  readonly authorization?: string;
  readonly network?: NetworkFault;
  /** How long the vendor may take before it answers 202. */
  readonly waitS?: number;
};

/** What sends requests, one at a time, and shows each to `trail`. */
export type Wire = ReturnType<typeof createWire>;

type WireOptions = {
  readonly target: Target;
  readonly credentials: Credentials;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly trail: Exchange[];
};

const operations = new Map(allOperations.map(operation => [operation.id, operation]));

/** Makes what sends requests. */
export function createWire({ target, credentials, timeoutMs, signal, trail }: WireOptions) {
  /** One request as it is; throws only once the run is over. */
  async function send(outgoing: Outgoing, travel: Partial<Travel> = {}): Promise<Exchange> {
    const made = await exchange(target, outgoing, { timeoutMs, signal, ...travel });
    trail.push(made);
    signal.throwIfAborted();
    return made;
  }

  async function toOutgoing(id: OperationId, input: AnyInput, how: How): Promise<Outgoing> {
    const { method, path, query } = operationOf(id);
    const { body } = input;
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(input[name])),
    );
    const given = Object.keys(query?.shape ?? {}).flatMap(key =>
      input[key] === undefined ? [] : [[key, String(input[key])]],
    );
    const authorization = how.authorization ?? (await credentials.header());
    const headers = {
      ...(authorization && { authorization }),
      prefer: `wait=${how.waitS ?? Math.max(1, Math.floor(timeoutMs / 1_000) - 1)}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    return {
      method,
      path: given.length > 0 ? `${filled}?${new URLSearchParams(given)}` : filled,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
  }

  return {
    send,
    toOutgoing,

    /** The one answer to one request, through a network where `how` names one that lets answers pass. */
    async call(id: OperationId, input: AnyInput, how: How = {}): Promise<Exchange> {
      const outgoing = await toOutgoing(id, input, how);
      const proxy = how.network && (await openProxy(target, how.network));
      try {
        return await send(outgoing, { port: proxy?.port });
      } finally {
        proxy?.close();
      }
    },

    /** Sends a request whose answer is lost; resolves once the vendor has got it, and has answered where it still can. */
    async lose(id: OperationId, input: AnyInput, network: NetworkFault): Promise<void> {
      const outgoing = await toOutgoing(id, input, {});
      const proxy = await openProxy(target, network);
      const end = new AbortController();
      const late = pause(timeoutMs, AbortSignal.any([signal, end.signal]));
      const over = Promise.race([proxy.done, late]).finally(() => proxy.close());
      await Promise.allSettled([send(outgoing, { port: proxy.port }), over]);
      end.abort();
      signal.throwIfAborted();
    },
  };
}

/** The row of an operation. */
export function operationOf(id: OperationId): NamedOperation {
  const found = operations.get(id);
  if (!found) throw new Error(`there is no operation "${id}"`);
  return found;
}

/** The ids of a call's path by their names. */
export function idsOf(id: OperationId, input: AnyInput): Readonly<Record<string, string>> {
  const names = operationOf(id).path.match(/(?<=\{)\w+/g) ?? [];
  return Object.fromEntries(names.map(name => [name, String(input[name])]));
}
