import { openScope, pause, type Call } from './call.ts';
import type { Http, HttpRequest } from './http.ts';
import { Problem } from './problem.ts';

/** Which page of a list: at most `limit` entries (0 or absent: as many as one page holds) after `pageToken`. */
export type PageRequest = { readonly limit?: number; readonly pageToken?: string };

/** Pause between two looks at work that the API answered with 202, in milliseconds. */
const pollMs = 250;

/** The answer to a request, once what it asks for is done. */
export async function ask<T>(http: Http, request: HttpRequest<T>, call: Call): Promise<T> {
  const value = await finish(http, request, call);
  if (value === undefined)
    throw new Problem('UNAVAILABLE', `the storage API gave no body to ${request.method} ${request.path}`);
  return value;
}

/** Deletes what is at a path. An id that no path can hold names nothing, and so there is nothing left to delete. */
export async function remove(http: Http, pathOf: () => string, call: Call): Promise<void> {
  const path = addressOf(pathOf);
  if (path !== undefined) await finish(http, { method: 'DELETE', path }, call);
}

function addressOf(pathOf: () => string): string | undefined {
  try {
    return pathOf();
  } catch {
    return undefined;
  }
}

async function finish<T>(http: Http, request: HttpRequest<T>, call: Call): Promise<T | undefined> {
  const scope = openScope(call);
  try {
    for (;;) {
      const { value, accepted } = await http.send(request, call);
      if (!accepted) return value;
      if (Date.now() + pollMs >= call.deadlineMs)
        throw new Problem('ABORTED', 'the operation is still running; the same call joins it');
      await pause(scope.signal, pollMs);
    }
  } finally {
    scope.end();
  }
}

/** A path with a query; what is 0, empty or absent is left out. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): string {
  const given = Object.entries(query).flatMap(([key, value]) => (value ? [[key, String(value)]] : []));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}
