import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lines, propose } from '../../harness/cli/completion-lines.ts';

test('bash completes commands, flags, their values, and names from the gateway', async t => {
  const script = lines.map(
    ([line]) => `COMP_WORDS=(${line}${line.endsWith(' ') ? '""' : ''}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_fairlead; echo "\${COMPREPLY[*]}"`,
  );
  const proposed = await propose(t, { name: 'bash', argv: ['bash'] }, `COMPLETION\n${script.join('\n')}`);
  assert.deepEqual(
    proposed,
    lines.map(([, words]) => words),
  );
});
