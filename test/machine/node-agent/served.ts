import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { nodeSettings } from '../../../node-agent/config.ts';
import { startNodeAgent } from '../../../node-agent/main.ts';
import { toPublishContext } from '../../../src/api/attachment.ts';
import { connectCsi, type CsiClient } from '../../../src/csi/client.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { requestFor, type Bench } from '../../harness/node-agent-bench.ts';

/** An agent that serves a bench in this process, its commands bounded by two seconds, and a client of it. */
export async function serveBench(
  { directory }: Bench,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ client: CsiClient; close: () => Promise<void> }> {
  const argv = {
    endpoint: `unix://${directory}/csi.sock`,
    'node-id': 'n1',
    'state-dir': `${directory}/state`,
    'kubelet-dir': directory,
    'command-timeout': '2s',
    ...settings,
  };
  const { values } = readSettings(nodeSettings, {
    argv: Object.entries(argv).flatMap(([name, value]) => [`--${name}`, value]),
    env: {},
  });
  assert.ok(values);
  const running = await startNodeAgent(values, silentLog);
  const client = connectCsi(argv.endpoint);
  return {
    client,
    close: async () => {
      client.close();
      await running.close();
    },
  };
}

/** A volume with a copy of the image, in the fields of every request that is made of it. */
export function volumeOf(bench: Bench, image: string, name: string) {
  const path = `${image}-${name}`;
  execFileSync('cp', ['--sparse=always', image, path]);
  const { attachment } = requestFor(bench, path);
  return {
    volume_id: `c.${name}`,
    publish_context: toPublishContext(attachment),
    staging_target_path: `${bench.directory}/stage/${name}`,
    target_path: `${bench.directory}/pods/${name}`,
    volume_path: `${bench.directory}/pods/${name}`,
    volume_capability: {
      mount: { fs_type: 'ext4' },
      access_mode: { mode: 'SINGLE_NODE_MULTI_WRITER' as const },
    },
  };
}
