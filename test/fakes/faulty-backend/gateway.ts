import { gatewaySettings } from '../../../gateway/config.ts';
import type { Plugins } from '../../../gateway/pools/plugins.ts';
import { startGateway } from '../../../gateway/main.ts';
import { openImages } from '../../../gateway/backends/image.ts';
import { backends } from '../../../gateway/backends/index.ts';
import { openLoop } from '../../../gateway/exports/loop.ts';
import type { Backend, BackendPlugin, NewSnapshot } from '../../../gateway/backend.ts';
import { runProgram } from '../../../src/lib/lifecycle.ts';
import { createLog, silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { crashAtSteps, createFaultyBackend, type FaultOptions } from '../faulty-backend.ts';
import type { Rule } from './rules.ts';

/**
 * Runs `fairlead gateway` with faults added to every backend and every step of the work: FAULT_RULES has the rules as
 * JSON, FAULT_JOURNAL is the path of the journal of calls. Several such gateways may serve one image directory, as
 * replicas serve a storage in a network. All other settings are the same as for the real gateway.
 */
const { FAULT_RULES: rules = '[]', FAULT_JOURNAL: journal, ...env } = process.env;
const options: FaultOptions = { rules: JSON.parse(rules) as readonly Rule[], seed: 1, journal };
const sharedImages: BackendPlugin<typeof backends.image.settings> = {
  settings: backends.image.settings,
  open: async ({ dir, capacity }) =>
    withGroups(await openImages(dir, capacity, { exported: openLoop(), log: silentLog })),
};
const plugins: Plugins = Object.fromEntries(
  Object.entries<BackendPlugin>({ ...backends, image: sharedImages }).map(([name, plugin]) => [
    name,
    withFaults(plugin),
  ]),
);

const { values: config, faults } = readSettings(gatewaySettings, { argv: process.argv.slice(2), env });
if (faults) throw new Error(faults.join('\n'));
const log = createLog('gateway', config['log-level']);
await runProgram({
  name: 'gateway',
  log,
  start: () => startGateway(config, log, { plugins, checkpoint: crashAtSteps(options) }),
});

/**
 * Offers groups that are taken member by member, so that a test can kill the gateway's own work on them; nothing is
 * attached.
 */
function withGroups(backend: Awaited<ReturnType<typeof openImages>>): Backend {
  const { create } = backend.snapshots;
  const createGroup = (members: readonly NewSnapshot[]) => Array.fromAsync(members, create);
  return { ...backend, snapshots: { ...backend.snapshots, createGroup } };
}

function withFaults(plugin: BackendPlugin): BackendPlugin {
  return {
    settings: plugin.settings,
    open: async (settings, context) => createFaultyBackend(await plugin.open(settings, context), options),
  };
}
