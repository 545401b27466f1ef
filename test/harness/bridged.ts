import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { stringify } from 'yaml';
import { startVendor } from '../fakes/storages/reference.ts';
import { startDev } from './dev.ts';
import type { Flags } from './program.ts';

const serve = join(import.meta.dirname, '../fakes/storages/bridge.ts');

/** The command of a bridge that is started as a vendor's server is. */
export const bridgeCommand = [process.execPath, '--disable-warning=ExperimentalWarning', serve];

/** Starts a Fairlead whose two sockets are an existing driver, and returns the variables of a bridge over it. */
export async function startDriver(t: TestContext, dir: string) {
  const driver = await startDev(t, { dir: join(dir, 'driver') });
  return { driver, env: { CSI_ENDPOINT: driver.controller, NODE_ID: driver.nodeId } };
}

/** Starts a Fairlead with a pool that is a bridge over a driver, and a node that accepts the driver. */
export async function startBridged(t: TestContext, dir: string, flags: Flags = {}) {
  const { driver, env } = await startDriver(t, dir);
  const bridge = await startVendor(t, { command: bridgeCommand, env });
  writeFileSync(join(dir, 'token'), bridge.token);
  const attachments = { protocols: ['csi'], drivers: ['csi.fairlead.dev'] };
  const pools = { old: { backend: 'rest', url: bridge.url, token: join(dir, 'token'), attachments } };
  writeFileSync(join(dir, 'pools.yaml'), stringify({ pools }));
  const own = await startDev(t, {
    dir: join(dir, 'own'),
    config: join(dir, 'pools.yaml'),
    capacity: undefined,
    'csi-drivers': `csi.fairlead.dev=${new URL(driver.node).pathname}`,
    ...flags,
  });
  return { ...own, driver, bridge };
}
