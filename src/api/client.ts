import { createHttp, type Call, type HttpOptions } from './http.ts';
import {
  allOperations,
  type Input,
  type NamedOperation,
  type OperationId,
  type Operations,
  type Output,
} from './operations.ts';
import { Problem } from './problem.ts';

/**
 * The Storage API v1 as functions, one for each operation. A call that changes something returns only when it is done;
 * one that still runs at its deadline is ABORTED, and the same call later joins it. Every error is a `Problem`.
 */
export type StorageClient = {
  readonly [Id in OperationId]: (input: Input<Operations[Id]>, call: Call) => Promise<Output<Operations[Id]>>;
} & {
  /** Ends all connections at once; calls that are under way fail with UNAVAILABLE. */
  close(): Promise<void>;
};

type AnyInput = Readonly<Record<string, unknown>>;

/** Makes a client; connections are opened when needed and kept. */
export function createClient(options: HttpOptions): StorageClient {
  const http = createHttp(options);
  const calls = allOperations.map(operation => [
    operation.id,
    async (input: AnyInput, call: Call) => {
      const path = toPath(operation, input);
      if (path !== undefined) return http.send({ operation, path, body: input['body'] }, call);
      if (operation.method === 'DELETE') return undefined;
      throw new Problem('NOT_FOUND', `no path can hold ${JSON.stringify(input)}`);
    },
  ]);
  return { ...Object.fromEntries(calls), close: () => http.close() } as StorageClient;
}

/** The path with its ids escaped and the query; undefined when one of the ids cannot stand in a path. */
function toPath({ path, query }: NamedOperation, input: AnyInput): string | undefined {
  const ids = path.match(/(?<=\{)\w+/g)?.map(name => String(input[name])) ?? [];
  if (ids.some(id => id === '' || id === '.' || id === '..' || !id.isWellFormed())) return undefined;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])));
  const given = Object.keys(query?.shape ?? {}).flatMap(key =>
    input[key] === undefined || input[key] === '' ? [] : [[key, String(input[key])]],
  );
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`;
}
