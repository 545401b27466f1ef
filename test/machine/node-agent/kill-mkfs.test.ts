import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CsiClient } from '../../../src/csi/client.ts';
import { assertNothingLeft, openNode } from '../../harness/agent.ts';
import { noRoot } from '../../harness/machine.ts';
import { findMissing } from '../../harness/node-agent-bench.ts';
import { sample } from '../../harness/sample.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { createMortalAgent, untilDone } from './mortal-agent.ts';

const MiB = 2 ** 20;
const sizes = { ext4: 32 * MiB, xfs: 300 * MiB, btrfs: 256 * MiB } as const;
type FsType = keyof typeof sizes;

/** An mkfs that waits in its first run on a device until it is let go, or the test is over, and is the machine's own then. */
interface SlowMkfs {
  readonly commandDir: string;
  /** Resolves once the first run waits. */
  waits(): Promise<void>;
  letGo(): void;
  /** Resolves once the first run has ended, with its exit status. */
  firstStatus(): Promise<number>;
}

function makeSlowMkfs(dir: string, fsType: FsType): SlowMkfs {
  const [commandDir, runs] = [join(dir, 'bin'), join(dir, 'runs')];
  for (const path of [commandDir, runs]) mkdirSync(path);
  const name = `mkfs.${fsType}`;
  const own = execFileSync('which', [name], { encoding: 'utf8' }).trim();
  const script = `#!/bin/sh
case "$*" in */dev/*) ;; *) exec ${own} "$@" ;; esac
run=$$
mkdir ${runs}/first 2>/dev/null && run=first && first=1
: >${runs}/$run.begun
[ -z "$first" ] || while [ ! -e ${runs}/go ]; do
  [ -d ${runs} ] || exit 1
  sleep 0.05
done
${own} "$@"
status=$?
echo $status >${runs}/$run.ending
mv ${runs}/$run.ending ${runs}/$run.ended
exit $status
`;
  writeFileSync(join(commandDir, name), script, { mode: 0o755 });
  return {
    commandDir,
    waits: () => untilThere(join(runs, 'first.begun')),
    letGo: () => writeFileSync(join(runs, 'go'), ''),
    async firstStatus() {
      await untilThere(join(runs, 'first.ended'));
      return Number(readFileSync(join(runs, 'first.ended'), 'utf8'));
    },
  };
}

async function untilThere(path: string): Promise<void> {
  const isThere = await poll(() => existsSync(path) || undefined, { everyMs: 20, timeoutMs: 120_000 });
  assert.ok(isThere, `"${path}" did not come`);
}

/** When the mkfs of the dead agent goes on: before the next agent stages the volume, or when its pod has written. */
const moments = [
  'before the next agent stages the volume',
  'while a pod has its data on the volume',
] as const;

const cases = (Object.keys(sizes) as FsType[]).flatMap(fsType => moments.map(moment => ({ fsType, moment })));

for (const { fsType, moment } of sample('mkfs that outlives', cases, 2))
  test(
    `an mkfs.${fsType} that outlives its agent and goes on ${moment} harms nothing`,
    { skip: noRoot || findMissing([`mkfs.${fsType}`]) || false },
    async t => {
      const node = openNode(t);
      const mkfs = makeSlowMkfs(node.dir, fsType);
      const agent = createMortalAgent(node, {}, mkfs.commandDir);
      t.after(() => agent.kill());
      const volume = node.makeVolume('v', { sizeBytes: sizes[fsType] });
      const calls = callsFor(join(node.root, 'pods', 'v'), volume, fsType);

      const cut = calls.stage(await agent.client()).catch(() => 'cut off');
      await mkfs.waits();
      await agent.kill();
      assert.equal(await cut, 'cut off');

      if (moment === moments[0]) mkfs.letGo();
      await untilDone(agent, calls.stage);
      await untilDone(agent, calls.publish);
      writeFileSync(calls.file, 'data', { flush: true });
      mkfs.letGo();
      const status = await mkfs.firstStatus();
      if (moment === moments[1]) assert.notEqual(status, 0, 'it made a filesystem anew');
      const runs = begun(node.dir);

      for (let times = 0; times < 2; times++) {
        assert.equal(readFileSync(calls.file, 'utf8'), 'data');
        await untilDone(agent, calls.unpublish);
        await untilDone(agent, calls.unstage);
        await agent.kill();
        await untilDone(agent, calls.stage);
        await untilDone(agent, calls.publish);
      }
      assert.equal(readFileSync(calls.file, 'utf8'), 'data');
      assert.deepEqual(begun(node.dir), runs);
      await untilDone(agent, calls.unpublish);
      await untilDone(agent, calls.unstage);
      assertNothingLeft(node);
    },
  );

/** The runs of mkfs on a device. */
function begun(dir: string): readonly string[] {
  return readdirSync(join(dir, 'runs')).filter(file => file.endsWith('.begun'));
}

type Volume = ReturnType<ReturnType<typeof openNode>['makeVolume']>;

function callsFor(parent: string, { handle, publishContext }: Volume, fsType: FsType) {
  mkdirSync(parent, { recursive: true });
  const [staging, target] = [join(parent, 'globalmount'), join(parent, 'mount')];
  const request = {
    volume_id: handle,
    staging_target_path: staging,
    target_path: target,
    volume_capability: {
      mount: { fs_type: fsType },
      access_mode: { mode: 'SINGLE_NODE_WRITER' as const },
    },
    publish_context: publishContext,
  };
  return {
    file: join(target, 'data'),
    stage: (client: CsiClient) => client.node.NodeStageVolume(request),
    publish: (client: CsiClient) => client.node.NodePublishVolume(request),
    unpublish: (client: CsiClient) => client.node.NodeUnpublishVolume(request),
    /** Kubelet removes the directory itself. */
    async unstage(client: CsiClient) {
      await client.node.NodeUnstageVolume(request);
      rmdirSync(staging);
    },
  };
}
