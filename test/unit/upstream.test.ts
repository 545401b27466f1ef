import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createJudge } from '../kubernetes/upstream/judge.ts';
import type { Spec } from '../kubernetes/upstream/specs.ts';

const exceptions = [
  { specs: /^block/, reason: 'directories are no devices' },
  { specs: /^limits/, reason: 'nodes take any number', isLeftOut: true },
];

const specOf = (name: string, state: string, reason = ''): Spec => ({ name, state, reason, seconds: 1 });

for (const [what, spec, verdict] of [
  ['passes', specOf('mount', 'passed'), {}],
  ['fails without an exception', specOf('mount', 'failed', 'late'), { fault: 'failed: late' }],
  ['skips itself without an exception', specOf('mount', 'skipped', 'why'), { fault: 'skipped: why' }],
  ['skips itself as an exception', specOf('block', 'skipped', 'why'), { skip: 'directories are no devices' }],
  [
    'passes as an exception',
    specOf('block', 'passed'),
    { fault: 'passed, so delete it from the list of exceptions' },
  ],
  [
    'fails where the suite should skip it',
    specOf('block', 'failed', 'late'),
    { fault: 'the suite should skip it, but it failed: late' },
  ],
  ['the filter leaves out', specOf('mount', 'skipped'), undefined],
] as const)
  test(`the judge of Kubernetes' suite: a spec that ${what}`, () => {
    assert.deepEqual(createJudge(exceptions).judge(spec), verdict);
  });

test("the judge of Kubernetes' suite reports exceptions without a spec and specs that never ran", () => {
  const judge = createJudge(exceptions);
  for (const name of ['mount', 'clone', 'limits']) judge.judge(specOf(name, 'skipped'));
  judge.judge(specOf('clone', 'passed'));
  assert.deepEqual(judge.faults(), [
    'the list of exceptions has /^block/, which matches no spec',
    '"mount" did not run',
  ]);
});
