import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bridgeSettings } from '../../../src/bridge/config.ts';
import { startBridge } from '../../../src/bridge/main.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { settingsOf } from '../../harness/program.ts';

// Serves the bridge as a vendor's server is served in tests: with PORT, DIR and TOKEN, and its address on standard output.

const { DIR = '', PORT = '0', TOKEN = '', CSI_ENDPOINT = '', NODE_ID = '' } = process.env;
const { TOPOLOGIES, ACCESS_TYPES, SIZE_STEP = '1Mi' } = process.env;
const tokenFile = join(DIR, 'token');
writeFileSync(tokenFile, TOKEN);
const { ready } = await startBridge(
  settingsOf(bridgeSettings, {
    'csi-endpoint': CSI_ENDPOINT,
    dir: join(DIR, 'records'),
    listen: `127.0.0.1:${PORT}`,
    'token-file': tokenFile,
    'node-id': NODE_ID,
    topologies: TOPOLOGIES,
    'access-types': ACCESS_TYPES,
    'size-step': SIZE_STEP,
  }),
  silentLog,
);
process.stdout.write(`listening on ${ready['bridge']}\n`);
