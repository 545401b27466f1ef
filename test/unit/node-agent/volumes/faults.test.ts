import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { publish, unpublish, type PublishRequest } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import type { FakeFault, FakeImage } from '../../../fakes/host.ts';
import {
  defaultImageBytes,
  openFakeBench,
  requestFor,
  startAgent,
} from '../../../harness/node-agent-bench.ts';

type Request = StageRequest & PublishRequest;
type Operation = (agent: Agent, request: Request) => Promise<void>;

const operations: readonly Operation[] = [stage, publish, unpublish, unstage];
const undo: readonly Operation[] = [unpublish, unstage];

type Case = {
  readonly content: string;
  readonly isGrown?: boolean;
  change: (request: Request) => Request;
};

const cases: Readonly<Record<string, Case>> = {
  'an ext4 smaller than its device': { content: 'ext4', isGrown: true, change: request => request },
  'an xfs smaller than its device': {
    content: 'xfs',
    isGrown: true,
    change: request => ({ ...request, ...withFilesystem('xfs') }),
  },
  'a blank volume': { content: 'blank', change: request => request },
  'a volume with data': { content: 'ext4', change: request => request },
  'a blank btrfs volume': {
    content: 'blank',
    change: request => ({ ...request, capability: { ...request.capability, fsType: 'btrfs' } }),
  },
  'a read-only publish': {
    content: 'xfs',
    change: request => ({ ...request, ...withFilesystem('xfs'), readonly: true }),
  },
  'a read-only attachment': {
    content: 'ext4',
    change: request => ({ ...request, attachment: { ...request.attachment, readonly: true } }),
  },
  'a volume with options for its filesystem': {
    content: 'blank',
    change: request => ({ ...request, formatOptions: { 'fs.label': 'data' } }),
  },
  'a block volume': {
    content: 'blank',
    change: request => ({
      ...request,
      capability: { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' },
    }),
  },
};

function withFilesystem(fsType: string): Pick<Request, 'capability'> {
  return { capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType } };
}

for (const [name, { isGrown = false, ...rest }] of Object.entries(cases)) {
  for (const how of ['error', 'crash'] as const) {
    for (const when of ['before', 'after'] as const) {
      test(`${name}: a retry heals every step that ends in ${how} ${when} its effect`, async () => {
        await everyStep({ how, when, isGrown, ...rest }, async (world, failed) => {
          for (const operation of operations.slice(failed)) await operation(world.agent, world.request);
          assert.equal(world.image.filesystemBytes ?? world.image.sizeBytes, world.image.sizeBytes);
        });
      });
      test(`${name}: the undo clears what any step left that ends in ${how} ${when} its effect`, async () => {
        await everyStep({ how, when, isGrown, ...rest }, async world => {
          for (const operation of undo) await operation(world.agent, world.request);
        });
      });
    }
  }
}

type World = { readonly agent: Agent; readonly request: Request; readonly image: FakeImage };
type Options = Omit<FakeFault, 'step'> & Case;

/** Fails one step after the other of all operations, lets the machine heal, and looks at what is left. */
async function everyStep(
  options: Options,
  heal: (world: World, failed: number) => Promise<void>,
): Promise<void> {
  for (let step = 1; ; step++) {
    const { how, when, content, isGrown, change } = options;
    const bench = openFakeBench();
    const path = bench.makeImage('image', { content });
    if (isGrown) bench.resizeImage(path, 2 * defaultImageBytes);
    const request = change(requestFor(bench, path));
    const image = bench.host.state.images.get(path);
    assert.ok(image);
    let agent = await startAgent(bench);
    bench.host.failAt({ step, how, when });
    const failed = await runUntilFailure(agent, request, () => {
      if (image.content !== 'blank') image.data = 'precious';
    });
    const hasReachedEnd = bench.host.steps < step;
    bench.host.failAt(undefined);
    if (how === 'crash') agent = await startAgent(bench);
    await heal({ agent, request, image }, failed);
    assert.deepEqual(
      {
        mounts: bench.host.state.mounts,
        loops: [...bench.host.state.loops],
        records: [...bench.host.state.texts.values()].filter(text => !isMarked(text)),
        target: bench.host.state.paths.get(request.targetPath),
      },
      { mounts: [], loops: [], records: [], target: undefined },
      `after a fault at step ${step}`,
    );
    assert.ok(bench.host.state.formatted.every(found => found === 'blank'));
    assert.ok(bench.host.state.formatted.length <= 1, 'formatted twice');
    if (hasReachedEnd) return;
  }
}

/** The mark of an interrupted mkfs outlives the staging. */
function isMarked(text: string): boolean {
  return text.includes('"formatting":{');
}

/** The index of the operation that failed, or how many there are. */
async function runUntilFailure(agent: Agent, request: Request, onStaged: () => void): Promise<number> {
  for (const [index, operation] of operations.entries()) {
    try {
      await operation(agent, request);
    } catch {
      return index;
    }
    if (operation === stage) onStaged();
  }
  return operations.length;
}
