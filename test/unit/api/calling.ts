import type { TestContext } from 'node:test';
import type { Call } from '../../../src/api/http.ts';
import { createClient, type StorageClient } from '../../../src/api/client.ts';

/** A token that must never be seen in an error. */
export const canary = 'canary.5ecret.token';

/** A client that ends with its test. */
export function clientOf(
  t: TestContext,
  url: string,
  token: (renew: boolean) => Promise<string> = async () => canary,
): StorageClient {
  const client = createClient({ url, token });
  t.after(() => client.close());
  return client;
}

/** A call that may take so long. */
export function within(ms: number, signal?: AbortSignal): Call {
  return { deadlineMs: Date.now() + ms, requestId: 'r-0', ...(signal && { signal }) };
}
