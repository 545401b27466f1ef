// The node agent with one addition: told a number, it kills itself right before its n-th change to the machine from
// then on, with a command, a file or a directory. Commands under way continue, as on a real node.

import { nodeSettings } from '../../../node-agent/config.ts';
import type { Host } from '../../../node-agent/host.ts';
import { createMachine } from '../../../node-agent/host/linux.ts';
import { startNodeAgent } from '../../../node-agent/main.ts';
import { runProgram } from '../../../src/lib/lifecycle.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';

let left: number | undefined;

process.on('message', message => {
  ({ left } = message as { left?: number });
  process.send?.({ left });
});

const { values: config, faults } = readSettings(nodeSettings, { argv: process.argv.slice(2), env: {} });
if (faults) throw new Error(faults.join('; '));
const machine = createMachine({ timeoutMs: config['command-timeout'] });

await runProgram({
  name: 'node',
  log: silentLog,
  start: () =>
    startNodeAgent(config, silentLog, {
      ...machine,
      run: dying(machine.run),
      createDirectory: dying(machine.createDirectory),
      createFile: dying(machine.createFile),
      removeDirectory: dying(machine.removeDirectory),
      removeFile: dying(machine.removeFile),
      append: dying(machine.append),
      writeDurably: dying(machine.writeDurably),
    } satisfies Host),
});

function dying<Arguments extends readonly unknown[], Result>(
  change: (...argv: Arguments) => Promise<Result>,
): (...argv: Arguments) => Promise<Result> {
  return (...argv) => {
    if (left !== undefined && left-- === 0) process.kill(process.pid, 'SIGKILL');
    return change(...argv);
  };
}
