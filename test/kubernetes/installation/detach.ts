import { resolve } from 'node:path';
import { createClient } from '../../../src/api/client.ts';
import { createTokenSource } from '../../../src/api/http/tokens.ts';

/** Detaches a volume from all nodes with a cluster's key, as a person could: detach.ts GATEWAY KEY-FILE VOLUME. */
async function main([url = '', keyFile = '', volumeId = '']: readonly string[]): Promise<void> {
  const [issuer = ''] = volumeId.split('.');
  const token = createTokenSource({
    keyFile: resolve(keyFile),
    issuer,
    audience: 'fairlead',
    lifetimeMs: 60_000,
  });
  const client = createClient({ url, token });
  await client.detachVolumeFromAllNodes({ volumeId }, { deadlineMs: Date.now() + 60_000 });
  await client.close();
}

await main(process.argv.slice(2));
