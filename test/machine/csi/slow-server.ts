// A CSI server that stops itself (SIGSTOP) right before each look at its socket's directory and each change there, and
// has to be continued; with `fast` it does not stop. It prints `ready` once it serves, or the reason why it does not.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname } from 'node:path';
import { silentLog } from '../../../src/lib/log.ts';

const [socketPath = '', pace] = process.argv.slice(2);

if (pace !== 'fast') {
  for (const name of ['chmodSync', 'linkSync', 'lstatSync', 'openSync', 'renameSync', 'rmSync'] as const) {
    const call = fs[name] as (...argv: readonly unknown[]) => unknown;
    const stopping = (...argv: readonly unknown[]): unknown => {
      if (String(argv[0]).startsWith(dirname(socketPath))) process.kill(process.pid, 'SIGSTOP');
      return call(...argv);
    };
    Object.assign(fs, { [name]: stopping });
  }
  syncBuiltinESMExports();
}

const { serve } = await import('../../../src/csi/server.ts');
try {
  await serve({ socketPath, services: [], log: silentLog });
  process.stdout.write('ready\n');
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n`);
}
