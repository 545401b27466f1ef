import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertNothingLeft, homes, prepareNode } from '../../harness/node/program.ts';
import { noRoot } from '../../harness/machine.ts';
import { findMissing, until } from '../../harness/node.ts';
import { sample } from '../../harness/sample.ts';
import {
  check,
  openLife,
  publish,
  stage,
  unpublish,
  unstage,
  write,
  type Call,
  type VolumeKind,
} from './life.ts';
import { createMortalAgent, untilDone } from './mortal-agent.ts';

/**
 * An mkfs whose first run on a device waits for permission, or for the end of the test, and then runs the machine's
 * own.
 */
interface SlowMkfs {
  readonly commandDir: string;
  /** Resolves once the first run waits. */
  waits(): Promise<void>;
  release(): void;
  /** Resolves with the exit status of the first run. */
  firstStatus(): Promise<number>;
}

function makeSlowMkfs(dir: string, what: VolumeKind): SlowMkfs {
  const [commandDir, runs] = [join(dir, 'bin'), join(dir, 'runs')];
  for (const path of [commandDir, runs]) mkdirSync(path);
  const name = `mkfs.${what}`;
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
    waits: () => until(() => existsSync(join(runs, 'first.begun'))),
    release: () => writeFileSync(join(runs, 'go'), ''),
    async firstStatus() {
      await until(() => existsSync(join(runs, 'first.ended')));
      return Number(readFileSync(join(runs, 'first.ended'), 'utf8'));
    },
  };
}

/**
 * The moments when the dead agent's mkfs continues: before the next agent stages the volume, or after its pod has
 * written.
 */
const moments = [
  'before the next agent stages the volume',
  'while a pod has its data on the volume',
] as const;

const cases = (['ext4', 'xfs', 'btrfs'] as const).flatMap(what =>
  moments.flatMap(moment => homes.map(home => ({ what, moment, home }))),
);

for (const { what, moment, home } of sample('mkfs that outlives', cases, 2)) {
  const skip = noRoot || findMissing([`mkfs.${what}`]) || false;
  test(
    `an mkfs.${what} that outlives its agent and continues ${moment} does no harm (${home})`,
    { skip },
    async t => {
      const node = prepareNode(t, home);
      const mkfs = makeSlowMkfs(node.dir, what);
      const agent = createMortalAgent(node, mkfs.commandDir);
      t.after(() => agent.kill());
      const life = openLife(node, 'v', what);
      const run = async (...calls: readonly Call[]): Promise<void> => {
        for (const call of calls) await untilDone(agent, client => call(client, life));
      };

      const interrupted = stage(await agent.client(), life).catch(() => 'interrupted');
      await mkfs.waits();
      await agent.kill();
      assert.equal(await interrupted, 'interrupted');

      if (moment === moments[0]) mkfs.release();
      await run(stage, publish, write);
      mkfs.release();
      const status = await mkfs.firstStatus();
      if (moment === moments[1]) assert.notEqual(status, 0, 'it made a filesystem anew');
      const runs = begun(node.dir);

      for (let times = 0; times < 2; times++) {
        await run(check, unpublish, unstage);
        await agent.kill();
        await run(stage, publish);
      }
      await run(check);
      assert.deepEqual(begun(node.dir), runs);
      await run(unpublish, unstage);
      assertNothingLeft(node);
    },
  );
}

/** Lists the runs of mkfs on a device. */
function begun(dir: string): readonly string[] {
  return readdirSync(join(dir, 'runs')).filter(file => file.endsWith('.begun'));
}
