import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectCinder } from '../../examples/cinder/cinder.ts';
import { poll } from '../../src/lib/concurrency.ts';
import { openGateway } from '../vm/fleet/gateway.ts';
import { adapter } from './cinder.ts';

type Variables = Readonly<Record<string, string>>;

/** Opens a gateway with a pool `cinder` over examples/cinder, which gets the variables. Both end with this process. */
export async function openPool(root: string, variables: Variables) {
  await untilPlacing(variables);
  const TOKEN = 'a-token-for-a-first-try';
  const token = join(root, 'token');
  writeFileSync(token, TOKEN);
  const [program = '', ...args] = adapter;
  const server = spawn(program, args, {
    env: { ...process.env, ...variables, DIR: join(root, 'records'), TOKEN },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await Promise.race([
    once(createInterface({ input: server.stdout }), 'line'),
    once(server, 'close'),
  ])) as unknown[];
  if (typeof line !== 'string') throw new Error(`examples/cinder ended with ${line} before it listened`);
  const url = line.replace('listening on ', '');
  return openGateway(root, { cinder: { backend: 'rest', url, token } });
}

/** Waits until Cinder places volumes, which it does once its driver has told the free space. */
async function untilPlacing(variables: Variables): Promise<void> {
  const cinder = connectCinder(variables);
  let failure: unknown;
  const hasPools = async (): Promise<true | undefined> => {
    const { pools } = (await cinder.send('GET', '/scheduler-stats/get_pools')) as {
      readonly pools: object[];
    };
    return pools.length > 0 || undefined;
  };
  // While Cinder starts, a busy Keystone may miss a time limit of Cinder's.
  const tryPools = () => hasPools().catch((error: unknown) => void (failure = error));
  if (await poll(tryPools, { everyMs: 1_000, timeoutMs: 300_000 })) return;
  throw new Error(`Cinder places no volumes after 5 minutes; its last error: ${failure ?? 'none'}`);
}
