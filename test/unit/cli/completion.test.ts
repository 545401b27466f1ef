import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { exec } from '../../../src/lib/exec.ts';
import { runCli } from './run-cli.ts';
import { temporaryDirectory } from '../../harness/gateway-harness.ts';

/** What a shell proposes for each line, by a script that runs below the completion; `fairlead` itself is a stand-in. */
async function propose(t: TestContext, shell: string, script: string): Promise<readonly string[]> {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'fairlead'), '#!/bin/sh\necho "names:$*" | tr " " _\n');
  chmodSync(join(directory, 'fairlead'), 0o755);
  const completion = (await runCli(`completion ${shell}`)).stdout;
  const path = join(directory, 'script');
  writeFileSync(path, `PATH=${directory}:$PATH\n${completion}\n${script}`);
  const { status, stdout, stderr } = await exec(shell, [path], { timeoutMs: 20_000 });
  assert.equal(status, 0, stderr);
  return stdout.trimEnd().split('\n');
}

const lines: readonly (readonly [line: string, proposed: string])[] = [
  ['fairlead ex', 'explain'],
  ['fairlead get vol', 'volumes'],
  ['fairlead config ', 'set-context use-context get-contexts current-context delete-context'],
  ['fairlead get volumes ', 'names:get_volumes_-o_name'],
  ['fairlead describe node ', 'names:get_node_-o_name'],
  ['fairlead get volumes --no-headers --out', '--output'],
  ['fairlead get pools -o ', 'table wide json yaml name'],
  ['fairlead get pools -o y', 'yaml'],
  ['fairlead config use-context ', 'names:config_get-contexts_-o_name'],
  ['fairlead admin rest', 'restore'],
  ['fairlead completion f', 'fish'],
  ['fairlead gateway --log-level w', 'warn'],
];

test('bash completes commands, flags, what these take, and names that the gateway tells', async t => {
  const script = lines.map(
    ([line]) => `COMP_WORDS=(${line}${line.endsWith(' ') ? '""' : ''}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_fairlead; echo "\${COMPREPLY[*]}"`,
  );
  const proposed = await propose(t, 'bash', script.join('\n'));
  assert.deepEqual(
    proposed,
    lines.map(([, words]) => words),
  );
});

test('zsh and fish are given the same commands, flags and names', async () => {
  const [zsh, fish] = await Promise.all(
    ['zsh', 'fish'].map(async shell => (await runCli(`completion ${shell}`)).stdout),
  );
  assert.match(zsh ?? '', /^#compdef fairlead\n[^]*'get volumes'\)\n[^]*fairlead get volumes -o name/);
  assert.match(
    fish ?? '',
    /^complete -c fairlead -n '__fairlead_at '\\''get volumes'\\''' -l output -s o -x -a 'table /m,
  );
  assert.match(fish ?? '', /-f -a '\(fairlead get volumes -o name 2>\/dev\/null\)'$/m);
});
