import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secrets } from '../../../../node-agent/connector.ts';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { publish, unpublish, type PublishRequest } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import type { FakeFault, FakeHost } from '../../../fakes/host.ts';
import type { FakeImage } from '../../../fakes/state.ts';
import {
  block,
  defaultImageBytes,
  openFakeBench,
  openNode,
  startAgent,
  type Bench,
  type VolumeChange,
} from '../../../harness/node.ts';
import { sample } from '../../../harness/sample.ts';
import { openFakeShares, shareRequest } from '../../../harness/node/shares.ts';

type Request = StageRequest & PublishRequest;
type Operation = (agent: Agent, request: Request, secrets?: Secrets) => Promise<void>;

const operations: readonly Operation[] = [stage, publish, unpublish, unstage];
const undo: readonly Operation[] = [unpublish, unstage];

type Case = VolumeChange & {
  readonly isGrown?: boolean;
  readonly isUnclean?: boolean;
  readonly ask?: Partial<Request>;
};

const luks = { encryption: 'luks' } as const;
const reader = { readonly: true, mayReplay: true } as const;
const secrets: Secrets = { 'encryption-passphrase': 'canary' };
const secretsOf = ({ attachment }: Request): Secrets => (attachment.encryption ? secrets : {});
const [ext4, xfs] = [{ content: 'ext4' }, { content: 'xfs' }];

const cases: Readonly<Record<string, Case>> = {
  'an ext4 smaller than its device': { image: ext4, isGrown: true },
  'an xfs smaller than its device': { image: xfs, capability: { fsType: 'xfs' }, isGrown: true },
  'a blank volume': {},
  'a volume with data': { image: ext4 },
  'a blank btrfs volume': { capability: { fsType: 'btrfs' } },
  'a read-only publish': { image: xfs, capability: { fsType: 'xfs' }, ask: { readonly: true } },
  'a read-only attachment': { image: ext4, attachment: { readonly: true } },
  'a reader of an ext4 that was not unmounted cleanly': { image: ext4, attachment: reader, isUnclean: true },
  'a volume with options for its filesystem': { ask: { formatOptions: { 'fs.label': 'data' } } },
  'a block volume': { capability: block },
  'a block volume for a reader': { capability: block, ask: { readonly: true } },
  'an encrypted block volume for a reader': {
    attachment: luks,
    capability: block,
    ask: { readonly: true },
  },
  'a blank volume that is encrypted': { attachment: luks },
  'a block volume that is encrypted': { attachment: luks, capability: block },
};

type OpenedVolume = {
  readonly bench: Bench & { readonly host: FakeHost };
  readonly request: Request;
  /** Absent for a share. */
  readonly image?: FakeImage;
};

async function openImage({ isGrown, isUnclean, ask, ...change }: Case): Promise<OpenedVolume> {
  const { bench, request } = await openNode(openFakeBench(), change);
  const { path } = request.attachment;
  if (isGrown) bench.resizeImage(path, 2 * defaultImageBytes);
  const image = bench.host.state.images.get(path) ?? assert.fail();
  if (isUnclean) image.needsReplay = true;
  return { bench, request: { ...request, ...ask }, image };
}

async function openShare(protocol: 'bind' | 'nfs', readonly: boolean): Promise<OpenedVolume> {
  const bench = openFakeShares();
  return { bench, request: shareRequest(bench, { ...bench[protocol]('v'), readonly }) };
}

const worlds: Readonly<Record<string, () => Promise<OpenedVolume>>> = {
  ...Object.fromEntries(Object.entries(cases).map(([name, one]) => [name, () => openImage(one)])),
  'a directory': () => openShare('bind', false),
  'a read-only directory': () => openShare('bind', true),
  'an NFS export': () => openShare('nfs', false),
  'a read-only NFS export': () => openShare('nfs', true),
};

for (const [name, open] of sample('worlds', Object.entries(worlds), 9)) {
  for (const how of ['error', 'crash'] as const) {
    for (const when of ['before', 'after'] as const) {
      test(`${name}: a retry heals every step that ends in ${how} ${when} its effect`, async () => {
        await everyStep({ how, when, open }, async ({ agent, request, image }, failed) => {
          for (const operation of operations.slice(failed))
            await operation(agent, request, secretsOf(request));
          // A failed growth does not keep a volume from its pod, and is reported.
          const isTold = agent.cache.growthFaults.get(request.volumeId) !== undefined;
          assert.ok(isTold || (image?.filesystemBytes ?? image?.sizeBytes) === image?.sizeBytes);
        });
      });
      test(`${name}: the undo removes the remains of any step that ends in ${how} ${when} its effect`, async () => {
        await everyStep({ how, when, open }, async ({ agent, request }) => {
          for (const operation of undo) await operation(agent, request);
        });
      });
    }
  }
}

type World = Omit<OpenedVolume, 'bench'> & { readonly agent: Agent };
type Options = Omit<FakeFault, 'step'> & { readonly open: () => Promise<OpenedVolume> };

/** Fails each step of all operations in turn, ends the fault, and examines the remains. */
async function everyStep(
  { how, when, open }: Options,
  heal: (world: World, failed: number) => Promise<void>,
): Promise<void> {
  for (let step = 1; ; step++) {
    const { bench, request, image } = await open();
    const before = [...bench.host.state.mounts];
    let agent = await startAgent(bench);
    bench.host.failAt({ step, how, when });
    const failed = await runUntilFailure(agent, request, () => {
      const used = image?.inside ?? image;
      if (used && used.content !== 'blank') used.data = 'precious';
    });
    const hasReachedEnd = bench.host.steps < step;
    bench.host.failAt(undefined);
    if (how === 'crash') agent = await startAgent(bench);
    await heal({ agent, request, ...(image && { image }) }, failed);
    assert.deepEqual(
      {
        mounts: bench.host.state.mounts,
        loops: [...bench.host.state.loops],
        mappings: [...bench.host.state.mappings],
        records: [...bench.host.state.texts]
          .filter(([path, text]) => path.endsWith('.json') && !isMarked(text))
          .map(([path]) => path),
        target: bench.host.state.paths.get(request.targetPath),
      },
      { mounts: before, loops: [], mappings: [], records: [], target: undefined },
      `after a fault at step ${step}`,
    );
    assert.ok(bench.host.state.formatted.every(found => found === 'blank'));
    // Encryption anew makes the filesystem anew.
    const max = request.attachment.encryption ? 4 : 1;
    assert.ok(bench.host.state.formatted.length <= max, 'formatted twice');
    assert.doesNotMatch([...bench.host.state.texts.values()].join('\n'), /canary/);
    if (hasReachedEnd) return;
  }
}

/** The mark of an interrupted mkfs outlives the staging. */
function isMarked(text: string): boolean {
  return text.includes('"formatting":{');
}

/** Returns the index of the failed operation, or the number of operations. */
async function runUntilFailure(agent: Agent, request: Request, onStaged: () => void): Promise<number> {
  for (const [index, operation] of operations.entries()) {
    try {
      await operation(agent, request, secretsOf(request));
    } catch {
      return index;
    }
    if (operation === stage) onStaged();
  }
  return operations.length;
}
