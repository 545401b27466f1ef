import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { exec } from '../../../src/lib/exec.ts';
import { temporaryDirectory } from '../gateway.ts';
import { runCli } from './run-cli.ts';

/** Typed lines with the expected completions. */
export const lines: readonly (readonly [line: string, proposed: string])[] = [
  ['fairlead ex', 'explain'],
  ['fairlead get vol', 'volumes'],
  ['fairlead config ', 'set-context use-context get-contexts current-context delete-context'],
  ['fairlead get volumes ', 'names:get_volumes_-o_name'],
  ['fairlead describe node ', 'names:get_node_-o_name'],
  ['fairlead get vol ', 'names:get_volumes_-o_name'],
  ['fairlead get snap -o y', 'yaml'],
  ['fairlead describe att ', 'names:get_attachment_-o_name'],
  ['fairlead describe volumes --out', '--output'],
  ['fairlead get volumes --no-headers --out', '--output'],
  ['fairlead get pools -o ', 'table wide csv json yaml name custom-columns='],
  ['fairlead get pools -o y', 'yaml'],
  ['fairlead config use-context ', 'names:config_get-contexts_-o_name'],
  ['fairlead admin rest', 'restore'],
  ['fairlead completion f', 'fish'],
  ['fairlead gateway --log-level w', 'warn'],
];

/** A shell, the command that starts it, and the arguments that run a script. */
type Shell = {
  readonly name: string;
  readonly argv: readonly string[];
  readonly variables?: NodeJS.ProcessEnv;
};

/** Returns a shell's completions, through a script that runs below the completion; `fairlead` itself is a stand-in. */
export async function propose(t: TestContext, shell: Shell, script: string): Promise<readonly string[]> {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'fairlead'), '#!/bin/sh\necho "names:$*" | tr " " _\n');
  chmodSync(join(directory, 'fairlead'), 0o755);
  const completion = (await runCli(`completion ${shell.name}`)).stdout;
  const path = join(directory, 'script');
  writeFileSync(path, `${script.replace('COMPLETION', () => completion)}\n`);
  const environment = {
    ...process.env,
    ...shell.variables,
    PATH: `${directory}:${process.env['PATH']}`,
    HOME: directory,
  };
  const [command = '', ...args] = shell.argv;
  const { status, stdout, stderr } = await exec(command, [...args, path], { timeoutMs: 60_000, environment });
  assert.equal(status, 0, stderr);
  return stdout.trimEnd().split('\n');
}
