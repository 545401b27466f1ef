import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { stringify } from 'yaml';
import { filesBelow, referenceVendors, startVendor, type RunningVendor } from './reference.ts';
import { startDev } from '../../harness/dev.ts';
import type { Flags } from '../../harness/program.ts';

const serve = join(import.meta.dirname, 'bridge.ts');

/** The command of a bridge that is started as a vendor's server is. */
export const bridgeCommand = [process.execPath, '--disable-warning=ExperimentalWarning', serve];

/** Starts a Fairlead whose two sockets are an existing driver, and returns the variables of a bridge over it. */
export async function startDriver(t: TestContext, dir: string, flags: Flags = {}) {
  const driver = await startDev(t, { dir: join(dir, 'driver'), ...flags });
  return { driver, env: { CSI_ENDPOINT: driver.controller, NODE_ID: driver.nodeId } };
}

/** Starts a storage that snapshots groups, and returns the settings of a Fairlead over it. */
export async function startGroupStorage(t: TestContext, dir: string) {
  const { command } = referenceVendors[1];
  const storage = await startVendor(t, { command, env: { CAPACITY: `${2 ** 40}` } });
  const config = join(dir, 'storage.yaml');
  writePool(config, storage, filesBelow(storage.directory));
  const flags = { config, capacity: undefined, 'local-roots': storage.directory };
  return { storage, flags: { ...flags, 'plugin-capabilities': 'group-snapshots' } };
}

/** The settings of a Fairlead and of its driver, and variables of the bridge. */
type Settings = {
  readonly flags?: Flags;
  readonly ofDriver?: Flags;
  readonly env?: Readonly<Record<string, string>>;
};

/** Starts a Fairlead with a pool that is a bridge over a driver, and a node that accepts the driver. */
export async function startBridged(t: TestContext, dir: string, { flags, ofDriver, env }: Settings = {}) {
  const { driver, env: own } = await startDriver(t, dir, ofDriver);
  const bridge = await startVendor(t, { command: bridgeCommand, env: { ...own, ...env } });
  const config = join(dir, 'pools.yaml');
  writePool(config, bridge, { attachments: { protocols: ['csi'], drivers: ['csi.fairlead.dev'] } });
  const dev = await startDev(t, {
    dir: join(dir, 'own'),
    config,
    capacity: undefined,
    'csi-drivers': `csi.fairlead.dev=${new URL(driver.node).pathname}`,
    ...flags,
  });
  return { ...dev, driver, bridge };
}

/** Writes the configuration of a Fairlead whose pool is a vendor's storage. */
function writePool(config: string, { url, token }: RunningVendor, more: object): void {
  const tokenFile = `${config}.token`;
  writeFileSync(tokenFile, token);
  writeFileSync(config, stringify({ pools: { old: { backend: 'rest', url, token: tokenFile, ...more } } }));
}
