import { gatewaySettings } from '../../gateway/config.ts';
import type { Plugins } from '../../gateway/configuration/plugins.ts';
import { startGateway } from '../../gateway/main.ts';
import { openImages } from '../../gateway/backends/image.ts';
import { backends } from '../../gateway/backends/index.ts';
import type { BackendPlugin } from '../../gateway/backend.ts';
import { runProgram } from '../../src/lib/lifecycle.ts';
import { createLog } from '../../src/lib/log.ts';
import { readSettings } from '../../src/lib/settings.ts';
import { crashAtSteps, layFaults, type FaultOptions } from './faulty-backend.ts';
import type { Rule } from './faulty-backend/rules.ts';

/**
 * `fairlead gateway` with faults laid around every backend and every step of the work: FAULT_RULES says which, as JSON,
 * FAULT_JOURNAL where each call is told. Several may serve one image directory, as replicas serve a storage that is
 * reached over a network. All else comes as to the real one.
 */
const { FAULT_RULES: rules = '[]', FAULT_JOURNAL: journal, ...env } = process.env;
const options: FaultOptions = { rules: JSON.parse(rules) as readonly Rule[], seed: 1, journal };
const sharedImages: BackendPlugin<typeof backends.image.settings> = {
  settings: backends.image.settings,
  open: ({ dir, capacity }) => openImages(dir, capacity),
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

function withFaults(plugin: BackendPlugin): BackendPlugin {
  return {
    settings: plugin.settings,
    open: async (settings, context) => layFaults(await plugin.open(settings, context), options),
  };
}
