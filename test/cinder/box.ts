import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openGateway } from '../vm/fleet/gateway.ts';
import { adapter } from './cinder.ts';

/** Opens a gateway with a pool `cinder` over examples/cinder, which gets the variables. Both end with this process. */
export async function openPool(root: string, env: NodeJS.ProcessEnv) {
  const TOKEN = 'a-token-for-a-first-try';
  const token = join(root, 'token');
  writeFileSync(token, TOKEN);
  const [program = '', ...args] = adapter;
  const server = spawn(program, args, {
    env: { ...process.env, ...env, DIR: join(root, 'records'), TOKEN },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  const url = line.replace('listening on ', '');
  return openGateway(root, { cinder: { backend: 'rest', url, token } });
}
