import { join } from 'node:path';
import type { CsiClient } from '../../src/csi/client.ts';
import { clientOf } from './csi-serving.ts';
import { cli, startProgram, type Flags, type ProgramProcess } from './program.ts';
import { directoryOf } from './machine.ts';
import { stackOf, type CleanupScope } from './temporary.ts';

/** `fairlead dev` as a process, as a user starts it, with its addresses and its node's id. */
type Dev = ProgramProcess & Readonly<Record<'gateway' | 'controller' | 'node' | 'nodeId', string>>;

/** The entry file of a package that is installed elsewhere, and variables. */
type DevOptions = { readonly entry?: string; readonly env?: NodeJS.ProcessEnv };

/** Starts `fairlead dev`, which ends with the test, and waits until it is ready. */
export async function startDev(
  t: CleanupScope,
  settings: Flags,
  { entry = cli, env = {} }: DevOptions = {},
): Promise<Dev> {
  const flags = { capacity: '1Ti', 'log-level': 'warn', context: 'none', ...settings };
  const dev = startProgram('dev', flags, { node: [entry, 'dev'], env });
  stackOf(t).defer(() => dev.end());
  return { ...dev, ...((await dev.ready) as Pick<Dev, 'gateway' | 'controller' | 'node' | 'nodeId'>) };
}

/** A running `fairlead dev` with its directory and clients. */
export type OpenDev = Readonly<Record<'controller' | 'node', CsiClient>> & {
  readonly dir: string;
  readonly dev: Dev;
};

/** Starts `fairlead dev`, by default in a directory of its own, with a client for each socket. All end with the test. */
export async function openDev(t: CleanupScope, settings: Flags = {}, dir = directoryOf(t)): Promise<OpenDev> {
  const dev = await startDev(t, { dir: join(dir, 'dev'), ...settings });
  const [controller, node] = [clientOf(t, dev.controller), clientOf(t, dev.node)];
  return { dir, dev, controller, node };
}
