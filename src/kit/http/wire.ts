import { allOperations, type NamedOperation, type OperationId } from '../../api/operations.ts';
import { pause } from '../../lib/concurrency.ts';
import { createOverlaps } from './contradiction.ts';
import type { Credentials } from './credentials.ts';
import { sendRequest, type AnyInput, type Exchange, type RawRequest } from './exchange.ts';
import type { SendOptions, Target } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import { openProxy, type NetworkFault } from './proxy.ts';

export type CallOptions = {
  /** Replaces the kit's own credentials; empty for none. */
  readonly authorization?: string;
  readonly network?: NetworkFault;
  /** Time limit for the answer in milliseconds, in place of the run's. */
  readonly limitMs?: number;
  /** Time that the vendor may take before it answers 202, in seconds. */
  readonly waitS?: number;
};

/** The sender of requests, which appends each exchange to `trail`. */
export type Wire = ReturnType<typeof createWire>;

type WireOptions = {
  readonly target: Target;
  readonly credentials: Credentials;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly trail: Exchange[];
  readonly ledger: Ledger;
};

const operations = new Map(allOperations.map(operation => [operation.id, operation]));

export function createWire({ target, credentials, timeoutMs, signal, trail, ledger }: WireOptions) {
  const overlaps = createOverlaps();

  /** Sends a request unchanged. Throws only after the run's signal. */
  async function send(request: RawRequest, sendOptions: Partial<SendOptions> = {}): Promise<Exchange> {
    const end = overlaps.start(request);
    const sent = await sendRequest(target, request, { timeoutMs, signal, ...sendOptions });
    const exchange = { ...sent, ...(end() && { isUnordered: true }) };
    trail.push(exchange);
    signal.throwIfAborted();
    return exchange;
  }

  /** Makes the request of a call, and notes the resource that it creates for the clean-up. */
  async function toRawRequest(
    id: OperationId,
    input: AnyInput,
    callOptions: CallOptions = {},
  ): Promise<RawRequest> {
    ledger.note(id, input);
    const { method, path, query } = operationOf(id);
    const { body } = input;
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(input[name])),
    );
    const given = Object.keys(query?.shape ?? {}).flatMap(key =>
      input[key] === undefined ? [] : [[key, String(input[key])]],
    );
    const authorization = callOptions.authorization ?? (await credentials.header());
    const headers = {
      ...(authorization && { authorization }),
      prefer: `wait=${callOptions.waitS ?? Math.max(1, Math.floor(timeoutMs / 1_000) - 1)}`,
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
    toRawRequest,

    /** Sends one request, through the network fault in `callOptions` if there is one, which must let an answer pass. */
    async call(id: OperationId, input: AnyInput, callOptions: CallOptions = {}): Promise<Exchange> {
      const request = await toRawRequest(id, input, callOptions);
      const proxy = callOptions.network && (await openProxy(target, callOptions.network));
      try {
        return await send(request, { port: proxy?.port, timeoutMs: callOptions.limitMs ?? timeoutMs });
      } finally {
        proxy?.close();
      }
    },

    /** Sends a request and loses its answer. Resolves once the vendor has received it and answered it, if it still can. */
    async lose(id: OperationId, input: AnyInput, network: NetworkFault): Promise<void> {
      const request = await toRawRequest(id, input);
      const proxy = await openProxy(target, network);
      const end = new AbortController();
      const late = pause(timeoutMs, AbortSignal.any([signal, end.signal]));
      const over = Promise.race([proxy.done, late]).finally(() => proxy.close());
      await Promise.allSettled([send(request, { port: proxy.port }), over]);
      end.abort();
      signal.throwIfAborted();
    },
  };
}

export function operationOf(id: OperationId): NamedOperation {
  const found = operations.get(id);
  if (!found) throw new Error(`there is no operation "${id}"`);
  return found;
}

/** Returns the ids in the path of a call, by name. */
export function idsOf(id: OperationId, input: AnyInput): Readonly<Record<string, string>> {
  const names = operationOf(id).path.match(/(?<=\{)\w+/g) ?? [];
  return Object.fromEntries(names.map(name => [name, String(input[name])]));
}
