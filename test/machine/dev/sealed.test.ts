import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { directoryOf, testAsRoot } from '../../harness/machine.ts';
import { openDev } from '../../harness/dev.ts';

const canary = 'canary-4d1f';
const registry = resolve(import.meta.dirname, '../../../gateway/backends/index.ts');

/** The source of a package with a backend of image files that adds a secret to each attachment. */
const backend = `import { backends } from ${JSON.stringify(registry)};
export const backend = {
  settings: backends.image.settings,
  async open(settings, pool) {
    const images = await backends.image.open(settings, pool);
    const attach = async (...args) => ({ ...(await images.attach(...args)), secrets: { password: '${canary}' } });
    return { ...images, attach };
  },
};
`;

const capability = {
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
  access_type: 'mount' as const,
  mount: { fs_type: 'ext4' },
} as const;

testAsRoot('no log, file or answer of a program that handles a sealed secret holds it', async t => {
  const dir = directoryOf(t);
  const [home, images] = [join(dir, 'dev'), join(dir, 'images')];
  const own = join(home, 'node_modules/giving');
  for (const path of [own, images]) mkdirSync(path, { recursive: true });
  const manifest = { name: 'giving', type: 'module', exports: './index.js' };
  writeFileSync(join(own, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(own, 'index.js'), backend);
  const config = join(dir, 'pools.yaml');
  writeFileSync(config, JSON.stringify({ pools: { main: { backend: 'giving', dir: images } } }));
  const opened = await openDev(t, { config, 'log-level': 'debug' }, dir);
  const { dev } = opened;
  const [{ controller }, { node }] = [opened.controller, opened.node];
  const { volume } = await controller.CreateVolume({
    name: 'sealed',
    capacity_range: { required_bytes: 2 ** 26 },
    volume_capabilities: [capability],
  });
  const named = { volume_id: volume?.volume_id ?? '', volume_capability: capability };
  const { publish_context } = await controller.ControllerPublishVolume({ ...named, node_id: dev.nodeId });
  assert.match(publish_context['sealed'] ?? '', /^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);
  const staging_target_path = join(dir, 'staging');
  mkdirSync(staging_target_path);
  const at = { volume_id: named.volume_id, staging_target_path };
  await node.NodeStageVolume({ ...named, staging_target_path, publish_context });
  const changed = { ...publish_context, sizeBytes: '1' };
  await assert.rejects(node.NodeStageVolume({ ...named, staging_target_path, publish_context: changed }), {
    code: 'FAILED_PRECONDITION',
    message: /is not the one that the gateway signed/,
  });
  const files = readdirSync(home, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name !== 'index.js')
    .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  assert.ok(files.length > 5);
  for (const text of [...files, dev.stderr(), dev.stdout(), JSON.stringify(publish_context)])
    assert.ok(!text.includes(canary));
  await node.NodeUnstageVolume(at);
  await controller.ControllerUnpublishVolume({ volume_id: named.volume_id, node_id: dev.nodeId });
  await controller.DeleteVolume({ volume_id: named.volume_id });
});
