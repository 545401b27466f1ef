import assert from 'node:assert/strict';
import { poll } from '../../../src/lib/concurrency.ts';

/** Reads a page of metrics until it has these lines, because a page may be a second old; returns it. */
export async function readMetrics(url: string, lines: readonly string[]): Promise<string> {
  let [text, missing] = ['', lines];
  const look = async () => {
    text = await (await fetch(url)).text();
    missing = lines.filter(line => !text.split('\n').includes(line));
    return missing.length === 0 || undefined;
  };
  await poll(look, { everyMs: 50, timeoutMs: 60_000 });
  assert.deepEqual(missing, [], text);
  return text;
}
