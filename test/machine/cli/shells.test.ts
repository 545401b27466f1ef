import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isFull } from '../../harness/sample.ts';
import { packagesOf } from '../../packages.ts';
import { lines, propose } from '../../harness/cli/completion-lines.ts';

const packages = packagesOf('shells');
if (isFull) execFileSync('test/shells/packages.sh', { stdio: 'inherit' });
const unfetched = isFull ? 'its packages cannot be fetched' : 'its packages are fetched by npm run test:full';
const skip = existsSync(packages) ? false : unfetched;
/** The shells are not installed: fish finds its library here, and zsh needs none of its modules. */
const variables = { LD_LIBRARY_PATH: join(packages, 'usr/lib/x86_64-linux-gnu') };

test('zsh completes commands, flags, their values, and names from the gateway', { skip }, async t => {
  const script = lines.map(([line]) => {
    const words = line.split(' ').map(word => `'${word}'`);
    return `words=(${words.join(' ')}); CURRENT=${words.length}; _fairlead`;
  });
  // zsh itself proposes the words of the list that begin like the last one.
  const stand = `compdef() { : }
compadd() { shift; for one in "$@"; do case "$one" in "\${words[CURRENT]}"*) print -rn -- "$one ";; esac; done; print; }
COMPLETION`;
  const zsh = { name: 'zsh', argv: [join(packages, 'bin/zsh'), '-f'], variables };
  const proposed = await propose(t, zsh, [stand, ...script].join('\n'));
  assert.deepEqual(
    proposed.map(words => words.trimEnd()),
    lines.map(([, words]) => words),
  );
});

test('fish completes commands, flags, their values, and names from the gateway', { skip }, async t => {
  const script = lines.map(
    ([line]) => `string join -- ' ' (complete -C '${line}' | string replace -r '\\t.*' '')`,
  );
  const fish = { name: 'fish', argv: [join(packages, 'usr/bin/fish'), '--no-config'], variables };
  const proposed = await propose(t, fish, ['COMPLETION', ...script, 'true'].join('\n'));
  assert.deepEqual(
    proposed.map(inOrder),
    lines.map(([, words]) => inOrder(words)),
  );
});

/** Sorts words as fish does. */
function inOrder(words: string): string {
  return words.split(' ').toSorted().join(' ');
}
