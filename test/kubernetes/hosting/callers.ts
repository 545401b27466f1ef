import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../../../src/api/client.ts';
import { createTokenSource } from '../../../src/api/http/tokens.ts';
import { volumeSpec } from '../../harness/gateway/cluster-calls.ts';

/** The number of callers at a time, and of volumes that are made at least. */
const [callers, min] = [8, 50];
/** The time limit that the chart gives the sidecars' calls. */
const callMs = 60_000;

/** Volumes that were created, and the failures of calls, which the callers repeated. */
export type Outcome = { readonly created: readonly string[]; readonly failures: readonly string[] };

/**
 * Creates volumes as a cluster's controller does, until a file exists, and at least 50; prints their names and the
 * failures: callers.ts GATEWAY CLUSTER KEY-FILE NAME END-FILE.
 */
async function main([
  url = '',
  cluster = '',
  keyFile = '',
  name = '',
  end = '',
]: readonly string[]): Promise<void> {
  const token = createTokenSource({ keyFile, issuer: cluster, audience: 'fairlead', lifetimeMs: 60_000 });
  const client = createClient({ url, token });
  const [created, failures]: [string[], string[]] = [[], []];
  let next = 0;
  const create = async (volume: string): Promise<void> => {
    for (;;) {
      try {
        const parameters = { volumeId: `${cluster}.${volume}`, body: volumeSpec(volume) };
        await client.createVolume(parameters, { deadlineMs: Date.now() + callMs });
        return void created.push(volume);
      } catch (error) {
        failures.push(String(error));
        await pause(500);
      }
    }
  };
  const work = async (): Promise<void> => {
    while (!existsSync(end) || next < min) {
      await create(`${name}-${next++}`);
      await pause(100);
    }
  };
  await Promise.all(Array.from({ length: callers }, work));
  await client.close();
  process.stdout.write(JSON.stringify({ created, failures } satisfies Outcome));
}

if (import.meta.main) await main(process.argv.slice(2));
