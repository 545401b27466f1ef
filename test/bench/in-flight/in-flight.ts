import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pause } from '../../../src/lib/concurrency.ts';
import type { Bench, Figure } from '../figure.ts';
import { gatewayFlags } from '../processes.ts';
import { inDirectory } from '../setting.ts';
import type { Cost } from './services.ts';

const count = 5_000;
const few = 20;
const settleMs = 2_000;

/** Measures the gateway's cost of many operations that wait for a storage. */
export const inFlightBench: Bench = {
  name: 'in-flight',
  doc: `${count} attaches, and then as many detaches, asked for at once of a storage that takes 20 ms for each`,
  run: () => inDirectory(measureInFlight),
};

async function measureInFlight(dir: string): Promise<readonly Figure[]> {
  // The first run fills the compile cache; otherwise the code that strips types would count as memory.
  await runServices(dir, few);
  const taken = await runServices(dir, count);
  return taken.flatMap(({ what, delayMs, peakMB, beforeMB }) => [
    { name: `event-loop delay, p99, while ${count} ${what}`, value: delayMs, unit: 'ms', target: '≤ 50 ms' },
    {
      name: `most resident memory while ${count} ${what}`,
      value: peakMB,
      unit: 'MB',
      floor: { name: 'the same before', value: beforeMB },
      target: '≤ 200 MB',
    },
  ]);
}

/** Sends a gateway's services both requests, each when they are idle. */
async function runServices(dir: string, volumes: number) {
  const child = fork(
    join(import.meta.dirname, 'services.ts'),
    [join(dir, `${volumes}.sqlite`), String(volumes)],
    {
      execArgv: [...gatewayFlags.split(' '), '--disable-warning=ExperimentalWarning'],
      env: { ...process.env, NODE_COMPILE_CACHE: join(dir, 'cache') },
    },
  );
  await once(child, 'message');
  const taken: (Cost & { readonly what: string })[] = [];
  for (const what of ['attach', 'detach']) {
    await pause(settleMs);
    child.send(what);
    const [message] = (await once(child, 'message')) as [Cost];
    taken.push({ what, ...message });
  }
  await once(child, 'exit');
  return taken;
}
