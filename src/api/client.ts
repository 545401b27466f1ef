import type { z } from 'zod';
import { pause } from '../lib/concurrency.ts';
import { createHttp, openCall, type Call, type Http, type HttpOptions } from './http.ts';
import {
  allOperations,
  type Input,
  type Operation,
  type OperationId,
  type Operations,
  type Output,
} from './operations.ts';
import { Problem } from './problem.ts';

/**
 * The Storage API v1 as functions, one for each operation. A call that changes something returns only when it is done;
 * one that is still running at its deadline is ABORTED, and the same call later joins it. Every error is a `Problem`.
 * An id that no path can hold names nothing.
 */
export type StorageClient = {
  readonly [Id in OperationId]: (input: Input<Operations[Id]>, call: Call) => Promise<Output<Operations[Id]>>;
} & {
  /** Ends all connections at once; what is still asked fails with UNAVAILABLE. */
  close(): Promise<void>;
};

type AnyInput = Readonly<Record<string, unknown>>;

/** Pause between two looks at work that the API answered with 202, in milliseconds. */
const pollMs = 250;

/** Makes a client; connections are opened when needed and kept. */
export function createClient(options: HttpOptions): StorageClient {
  const http = createHttp(options);
  const calls = allOperations.map(([id, operation]) => [
    id,
    async (input: AnyInput, call: Call) => ask(http, { operation, input }, call),
  ]);
  return { ...Object.fromEntries(calls), close: () => http.close() } as StorageClient;
}

type Asked = { readonly operation: Operation; readonly input: AnyInput };

/** The answer, once what is asked for is done. */
async function ask(http: Http, { operation, input }: Asked, call: Call): Promise<unknown> {
  const path = toPath(operation, input);
  if (path === undefined) {
    if (operation.method === 'DELETE') return undefined;
    throw new Problem('NOT_FOUND', `no path can hold ${JSON.stringify(input)}`);
  }
  const { method, answers } = operation;
  const answer = answers[200] ?? undefined;
  const request = { method, path, body: input['body'], ...(answer && { answer }) };
  const opened = openCall(call);
  try {
    for (;;) {
      const { value, accepted } = await http.send(request, opened);
      if (!accepted) return value;
      if (Date.now() + 2 * pollMs >= call.deadlineMs)
        throw new Problem('ABORTED', 'the operation is still running; the same call joins it');
      await pause(pollMs, opened.signal);
    }
  } finally {
    opened.close();
  }
}

/** The path with its ids escaped and the query; undefined when one of the ids cannot stand in a path. */
function toPath({ path, query }: Operation, input: AnyInput): string | undefined {
  const ids: string[] = [];
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = String(input[name]);
    ids.push(id);
    return id.isWellFormed() ? encodeURIComponent(id) : '';
  });
  if (ids.some(id => id === '' || id === '.' || id === '..' || !id.isWellFormed())) return undefined;
  const given = Object.entries<z.ZodType>(query?.shape ?? {}).flatMap(([key, schema]) => {
    const value = input[key];
    const isDefault = value === 0 && schema.parse(0) === schema.parse(undefined);
    return value === undefined || value === '' || isDefault ? [] : [[key, String(value)]];
  });
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`;
}
