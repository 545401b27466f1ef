import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { choice, durationMs, text } from '../../../src/lib/parsers.ts';
import { describeSettings, readSettings } from '../../../src/lib/settings.ts';

const table = {
  endpoint: { doc: 'where', parse: text, variable: 'CSI_ENDPOINT' },
  wait: { doc: 'how long', parse: durationMs, default: '5s' },
  'store-key': { doc: 'a key', parse: choice('good'), optional: true, file: true },
  note: { doc: 'a note', parse: text, optional: true },
} as const;

const env = { FAIRLEAD_ENDPOINT: '/e' };
const read = (
  argv: readonly string[],
  given: NodeJS.ProcessEnv = env,
): ReturnType<typeof readSettings<typeof table>> => readSettings(table, { argv, env: given });

test('values come from flags, from variables and from defaults', () => {
  const { values } = read(['--note', 'hello'], { FAIRLEAD_ENDPOINT: '/e', PATH: '/bin' });
  assert.deepEqual(values, { endpoint: '/e', wait: 5_000, note: 'hello' });
});

test('a flag wins over its variable', () => {
  assert.equal(read(['--endpoint', '/flag']).values?.endpoint, '/flag');
  assert.equal(read(['--endpoint=/flag']).values?.endpoint, '/flag');
});

test('a second variable is taken where the first is not set', () => {
  assert.equal(read([], { CSI_ENDPOINT: '/csi' }).values?.endpoint, '/csi');
  assert.equal(read([], { CSI_ENDPOINT: '/csi', FAIRLEAD_ENDPOINT: '/e' }).values?.endpoint, '/e');
});

test('all faults are told together', () => {
  const argv = ['--wait', 'soon', '--colour', '--note', 'a', '--note', 'b', 'stray'];
  const { faults } = read(argv, { FAIRLEAD_COLOUR: '1', FAIRLEAD_STORE_KEY: 'bad' });
  assert.deepEqual(faults, [
    'unknown flag --colour',
    '--note is given twice',
    'unexpected argument "stray"',
    'unknown variable FAIRLEAD_COLOUR',
    '--endpoint is required (or FAIRLEAD_ENDPOINT): where',
    '--wait: "soon" is not a duration such as 250ms, 30s, 5m or 1h',
    '--store-key: "bad" is not one of good',
  ]);
});

const single: readonly (readonly [string, readonly string[], NodeJS.ProcessEnv, RegExp])[] = [
  ['a flag without its value', ['--note'], env, /^--note needs a value$/],
  ['a flag that swallows the next one', ['--note', '--wait=1s'], env, /^--note needs a value$/],
  ['a flag of one dash', ['-n'], env, /^unknown flag -n$/],
  ['an unknown flag with a value', ['--colour=5'], env, /^unknown flag --colour$/],
  ['a file for what takes none', ['--note-file=/x'], env, /^unknown flag --note-file$/],
  [
    'a variable for a file for what takes none',
    [],
    { ...env, FAIRLEAD_NOTE_FILE: '/x' },
    /^unknown variable FAIRLEAD_NOTE_FILE$/,
  ],
  ['a variable in other letters', [], { ...env, FAIRLEAD_note: 'x' }, /^unknown variable FAIRLEAD_note$/],
  ['an empty value', ['--note='], env, /^--note: must not be empty$/],
  ['an empty variable', [], { ...env, FAIRLEAD_NOTE: '' }, /^--note: must not be empty$/],
  [
    'a file that is missing',
    ['--store-key-file=/nowhere/k'],
    env,
    /^--store-key: cannot read file "\/nowhere\/k" \(ENOENT\)$/,
  ],
  ['a file that is a directory', ['--store-key-file=/'], env, /\(EISDIR\)$/],
  [
    'a value beside a file, as flags,',
    ['--store-key=good', '--store-key-file=/x'],
    env,
    /^--store-key: both --store-key and --store-key-file are given$/,
  ],
  [
    'a value beside a file, as variables,',
    [],
    { ...env, FAIRLEAD_STORE_KEY: 'good', FAIRLEAD_STORE_KEY_FILE: '/x' },
    /both FAIRLEAD_STORE_KEY and FAIRLEAD_STORE_KEY_FILE are given$/,
  ],
  ['a required setting that is missing', [], {}, /^--endpoint is required/],
  ['a required flag without its value', ['--endpoint'], {}, /^--endpoint needs a value$/],
  [
    'a flag without its value, though its variable is malformed,',
    ['--wait'],
    { ...env, FAIRLEAD_WAIT: 'x' },
    /^--wait needs a value$/,
  ],
  ['a flag that is given twice, malformed,', ['--wait=x', '--wait=y'], env, /^--wait is given twice$/],
  ['a flag that is given thrice', ['--wait=1s', '--wait', '--wait=1s'], env, /^--wait is given twice$/],
  ['a file flag without its value', ['--store-key-file'], env, /^--store-key-file needs a value$/],
];

for (const [name, argv, given, says] of single) {
  test(`${name} is the one fault`, () => {
    const { faults = [] } = read(argv, given);
    assert.equal(faults.length, 1, faults.join('\n'));
    assert.match(faults[0] ?? '', says);
  });
}

test('a value is read from a file where its row allows it, without the newline at its end, by flag and by variable', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-settings-'));
  t.after(() => rm(dir, { recursive: true }));
  const file = join(dir, 'key');
  await writeFile(file, 'good\n');
  assert.equal(read(['--store-key-file', file]).values?.['store-key'], 'good');
  assert.equal(read([], { ...env, FAIRLEAD_STORE_KEY_FILE: file }).values?.['store-key'], 'good');
});

test('a mistyped name is told with the one that is likely to be meant', () => {
  assert.deepEqual(
    read(['--endpiont=/e'], {}).faults?.[0],
    'unknown flag --endpiont; did you mean "endpoint"?',
  );
  const { faults } = read([], { ...env, FAIRLEAD_WIAT: '5s' });
  assert.deepEqual(faults, ['unknown variable FAIRLEAD_WIAT; did you mean "FAIRLEAD_WAIT"?']);
});

test('help tells flag, variable, default and meaning of every setting, and never the value of one', () => {
  const help = describeSettings(table);
  for (const [name, { doc }] of Object.entries(table)) {
    assert.ok(help.includes(`--${name}\n`), name);
    assert.ok(help.includes(doc), name);
  }
  assert.match(help, /FAIRLEAD_ENDPOINT, CSI_ENDPOINT; required/);
  assert.match(help, /FAIRLEAD_WAIT; default 5s/);
  assert.match(help, /--store-key-file, FAIRLEAD_STORE_KEY_FILE/);
  assert.doesNotMatch(help, /--note-file/);
});
