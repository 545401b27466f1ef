import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { test, type TestContext } from 'node:test';
import type { Host } from '../../../../node-agent/host.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { directoryOf, mountsBelow } from '../../../harness/machine.ts';
import { openNode, real, takeDown, withCommands } from '../../../harness/node.ts';
import { makeDirectoryVolume, shareRequest } from '../../../harness/node/shares.ts';
import { isFull } from '../../../harness/sample.ts';
import { waitForExit } from '../../../harness/exit.ts';

/**
 * Opens a volume whose paths are in directories of their own, and a directory elsewhere with a mount and a file in it.
 */
async function open(t: TestContext) {
  const { bench, agent, request: made } = await openNode(t);
  const outside = directoryOf(t);
  const parents = { pod: `${bench.directory}/pods/p`, staging: `${bench.directory}/stage/s` };
  for (const path of [...Object.values(parents), `${outside}/v`, `${outside}/s`, `${outside}/s/v`])
    mkdirSync(path);
  execFileSync('mount', ['-t', 'tmpfs', 'none', `${outside}/v`]);
  writeFileSync(`${outside}/file`, '');
  const request = { ...made, stagingPath: `${parents.staging}/v`, targetPath: `${parents.pod}/v` };
  const requireOutsideUntouched = (): void => {
    assert.deepEqual(mountsBelow(outside), [`${outside}/v`]);
    assert.deepEqual(readdirSync(outside).toSorted(), ['file', 's', 'v']);
    assert.ok(existsSync(`${outside}/s/v`));
  };
  const paths = { ...parents, target: request.targetPath, stagingPath: request.stagingPath };
  return { bench, agent, request, outside, paths, requireOutsideUntouched };
}

type Setting = Awaited<ReturnType<typeof open>>;

/** Returns the agent on a machine that runs `work` right before the n-th run of a command or change. */
function disturb(agent: Agent, { before, time }: Pick<Case, 'before' | 'time'>, work: () => void): Agent {
  let seen = 0;
  const noticed = (what: string): void => {
    if (what === before && ++seen === (time ?? 1)) work();
  };
  const { host } = agent;
  const changed: Host = {
    ...host,
    async run(...run) {
      noticed(run[0]);
      return host.run(...run);
    },
    async createDirectory(path) {
      noticed('mkdir');
      return host.createDirectory(path);
    },
    async removeDirectory(path) {
      noticed('rmdir');
      return host.removeDirectory(path);
    },
  };
  return { ...agent, host: changed };
}

type Case = {
  readonly operation: 'stage' | 'publish' | 'unpublish' | 'unstage';
  readonly before: 'mount' | 'umount' | 'mkdir' | 'rmdir';
  readonly time?: number;
  readonly swapped: keyof Setting['paths'];
  readonly readonly?: boolean;
};

const cases: readonly Case[] = [
  { operation: 'stage', before: 'mkdir', swapped: 'staging' },
  { operation: 'stage', before: 'mount', swapped: 'staging' },
  { operation: 'stage', before: 'mount', swapped: 'stagingPath' },
  { operation: 'publish', before: 'mkdir', swapped: 'pod' },
  { operation: 'publish', before: 'mount', swapped: 'pod' },
  { operation: 'publish', before: 'mount', swapped: 'target' },
  { operation: 'publish', before: 'mount', swapped: 'staging' },
  { operation: 'publish', before: 'mount', time: 2, swapped: 'pod', readonly: true },
  { operation: 'unpublish', before: 'umount', swapped: 'pod' },
  { operation: 'unpublish', before: 'rmdir', swapped: 'pod' },
  { operation: 'unstage', before: 'umount', swapped: 'staging' },
];

const operations = { stage, publish, unpublish, unstage };
const order = ['stage', 'publish', 'unpublish', 'unstage'] as const;

for (const one of cases)
  test(
    `${JSON.stringify(one)}: a link in place of a directory changes nothing elsewhere`,
    real(),
    async t => {
      const { bench, agent, request, outside, paths, requireOutsideUntouched } = await open(t);
      const asked = { ...request, readonly: one.readonly ?? false };
      for (const earlier of order.slice(0, order.indexOf(one.operation)))
        await operations[earlier](agent, asked);
      const before = mountsBelow(bench.directory);
      const path = paths[one.swapped];
      let isSwapped = false;
      const disturbed = disturb(agent, one, () => {
        renameSync(path, `${path}.away`);
        // A link to a mount point could not be removed.
        symlinkSync(one.before === 'rmdir' ? `${outside}/s` : outside, path);
        isSwapped = true;
      });
      const problem = await operations[one.operation](disturbed, asked).then(() => undefined, String);
      assert.ok(isSwapped);
      requireOutsideUntouched();
      unlinkSync(path);
      renameSync(`${path}.away`, path);
      const after = mountsBelow(bench.directory);
      if (problem !== undefined && ['stage', 'publish'].includes(one.operation))
        assert.deepEqual(after, before);
      if (problem === undefined && one.operation === 'publish') assert.ok(after.includes(paths.target));
      for (const next of order.slice(order.indexOf(one.operation))) await operations[next](agent, asked);
      assert.deepEqual(mountsBelow(bench.directory), []);
      requireOutsideUntouched();
    },
  );

test('a directory that alternates with a link changes nothing elsewhere', real(), async t => {
  const { bench, agent, request, outside, paths, requireOutsideUntouched } = await open(t);
  await stage(agent, request);
  const source = `const fs = require('node:fs'); const [path, outside] = process.argv.slice(1);
    process.on('message', () => process.exit(0));
    const swap = () => {
      fs.renameSync(path, path + '.away'); fs.symlinkSync(outside, path);
      fs.unlinkSync(path); fs.renameSync(path + '.away', path); setImmediate(swap);
    }; swap();`;
  const swapper = spawn(process.execPath, ['-e', source, paths.pod, outside], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    for (let round = 0; round < (isFull ? 1_000 : 40); round++) {
      for (const operation of [publish, unpublish]) {
        await operation(agent, request).catch(() => {});
        requireOutsideUntouched();
      }
    }
  } finally {
    swapper.send('end');
    await waitForExit(swapper);
  }
  await takeDown(agent, request);
  assert.deepEqual(mountsBelow(bench.directory), []);
  assert.equal(existsSync(paths.target), false);
});

test('a mount that a helper made elsewhere is unmounted there', real(), async t => {
  const { bench, agent, outside, requireOutsideUntouched } = await open(t);
  const request = shareRequest(bench, makeDirectoryVolume(bench, 'share'));
  const misled = withCommands(agent, (command, args) => {
    if (command !== 'mount') return undefined;
    execFileSync('mount', ['--bind', args.at(-2) ?? '', `${outside}/s`]);
    return { status: 0 };
  });
  await assert.rejects(stage(misled, request), { code: 'UNAVAILABLE' });
  requireOutsideUntouched();
});

test('a failed mount does not unmount the same mount of another call', real(), async t => {
  const { bench, agent, outside } = await open(t);
  const request = shareRequest(bench, makeDirectoryVolume(bench, 'share'));
  const failing = withCommands(agent, (command, args) => {
    if (command !== 'mount') return undefined;
    execFileSync('mount', ['--bind', args.at(-2) ?? '', `${outside}/s`]);
    return { status: 32 };
  });
  await assert.rejects(stage(failing, request), { code: 'UNAVAILABLE' });
  assert.deepEqual(mountsBelow(outside), [`${outside}/v`, `${outside}/s`]);
});
