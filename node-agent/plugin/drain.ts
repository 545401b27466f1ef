import { setTimeout as sleep } from 'node:timers/promises';
import type { Records } from '../state/records.ts';

const lookMs = 100;

/**
 * Resolves once no volume is on this node by its records, and at the latest after `graceMs`: the pods of a node that drains
 * or shuts down are unmounted after the agent was asked to end, and only the agent can do it.
 */
export async function untilUnused(records: Records, graceMs: number): Promise<void> {
  const endMs = Date.now() + graceMs;
  for (let leftMs = graceMs; leftMs > 0 && records.here().length > 0; leftMs = endMs - Date.now())
    await sleep(Math.min(lookMs, leftMs));
}
