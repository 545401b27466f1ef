import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { choice, durationMs, list, text } from '../../../src/lib/parsers.ts';
import { describeSettings, onOrOff, readSettings } from '../../../src/lib/settings.ts';

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

test('values come from flags, from variables and from defaults, and a flag wins', () => {
  const { values } = read(['--note', 'hello'], { FAIRLEAD_ENDPOINT: '/e', PATH: '/bin' });
  assert.deepEqual(values, { endpoint: '/e', wait: 5_000, note: 'hello' });
  assert.equal(read(['--endpoint', '/flag']).values?.endpoint, '/flag');
  assert.equal(read(['--endpoint=/flag']).values?.endpoint, '/flag');
  assert.equal(read([], { CSI_ENDPOINT: '/csi' }).values?.endpoint, '/csi');
  assert.equal(read([], { CSI_ENDPOINT: '/csi', FAIRLEAD_ENDPOINT: '/e' }).values?.endpoint, '/e');
});

test('all errors are reported together', () => {
  const argv = ['--wait', 'soon', '--colour', '--note', 'a', '--note', 'b', 'stray'];
  const { faults } = read(argv, { FAIRLEAD_COLOUR: '1', FAIRLEAD_STORE_KEY: 'bad' });
  assert.deepEqual(faults, [
    'unknown flag --colour',
    'unexpected argument "stray"',
    'unknown variable FAIRLEAD_COLOUR',
    '--endpoint is required (or FAIRLEAD_ENDPOINT): where',
    '--wait: "soon" is not a duration such as 250ms, 30s, 5m or 1h',
    'FAIRLEAD_STORE_KEY: "bad" is not one of good',
    '--note: is given twice',
  ]);
});

const given = { ...env, FAIRLEAD_WAIT: 'x' };
const single: readonly (readonly [argv: string, variables: NodeJS.ProcessEnv, fault: string])[] = [
  ['--note', env, '--note: needs a value'],
  ['--note --wait=1s', env, '--note: needs a value'],
  ['-n', env, 'unknown flag -n'],
  ['--colour=5', env, 'unknown flag --colour'],
  ['-wait 5s', env, 'unknown flag -wait (did you mean "--wait"?)'],
  ['-waiit=5s', env, 'unknown flag -waiit (did you mean "--wait"?)'],
  ['--note-file=/x', env, 'unknown flag --note-file'],
  ['', { ...env, FAIRLEAD_NOTE_FILE: '/x' }, 'unknown variable FAIRLEAD_NOTE_FILE'],
  ['', { ...env, FAIRLEAD_note: 'x' }, 'unknown variable FAIRLEAD_note'],
  ['--note=', env, '--note: must not be empty'],
  ['', { ...env, FAIRLEAD_NOTE: '' }, 'FAIRLEAD_NOTE: must not be empty'],
  ['', { ...env, FAIRLEAD_WAIT: 'x' }, 'FAIRLEAD_WAIT: "x" is not a duration such as 250ms, 30s, 5m or 1h'],
  ['', { CSI_ENDPOINT: '' }, 'CSI_ENDPOINT: must not be empty'],
  [
    '--store-key-file=/nowhere/k',
    env,
    '--store-key-file: "/nowhere/k" cannot be read: it does not exist, or its directory does not',
  ],
  ['--store-key-file=/', env, '--store-key-file: "/" cannot be read: it is a directory, not a file'],
  [
    '',
    { ...env, FAIRLEAD_STORE_KEY_FILE: '/nowhere/k' },
    'FAIRLEAD_STORE_KEY_FILE: "/nowhere/k" cannot be read: it does not exist, or its directory does not',
  ],
  ['--store-key=good --store-key-file=/x', env, '--store-key: is given both as a value and as a file'],
  [
    '',
    { ...env, FAIRLEAD_STORE_KEY: 'good', FAIRLEAD_STORE_KEY_FILE: '/x' },
    'FAIRLEAD_STORE_KEY: is given both as a value and as a file',
  ],
  ['', {}, '--endpoint is required (or FAIRLEAD_ENDPOINT): where'],
  ['--endpoint', {}, '--endpoint: needs a value'],
  ['--wait', given, '--wait: needs a value'],
  ['--wait=x --wait=y', env, '--wait: is given twice'],
  ['--wait=1s --wait --wait=1s', env, '--wait: is given twice'],
  ['--store-key-file', env, '--store-key-file: needs a value'],
  ['--endpiont=/e', env, 'unknown flag --endpiont (did you mean "--endpoint"?)'],
  ['', { ...env, FAIRLEAD_WIAT: '5s' }, 'unknown variable FAIRLEAD_WIAT (did you mean "FAIRLEAD_WAIT"?)'],
];

for (const [argv, variables, fault] of single)
  test(`"${argv}" and ${Object.keys(variables).join(' ')} is the one error "${fault}"`, () =>
    assert.deepEqual(read(argv.split(' ').filter(Boolean), variables).faults, [fault]));

test('a value is read from a file if its row allows it, without the final newline, by flag and by variable', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-settings-'));
  t.after(() => rm(dir, { recursive: true }));
  const file = join(dir, 'key');
  await writeFile(file, 'good\n');
  assert.equal(read(['--store-key-file', file]).values?.['store-key'], 'good');
  assert.equal(read([], { ...env, FAIRLEAD_STORE_KEY_FILE: file }).values?.['store-key'], 'good');
  assert.deepEqual(read([], { ...env, FAIRLEAD_STORE_KEY_FILE: '' }), read([], env));
});

test('help has flag, variable, default and meaning of every setting, and no values', () => {
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

const withOperands = {
  kind: { doc: 'a kind', parse: text },
  names: { doc: 'names', parse: list(text), optional: true, isList: true },
  long: { doc: 'more', ...onOrOff, short: 'l' },
  output: { doc: 'how', parse: choice('json', 'yaml'), default: 'json', short: 'o' },
} as const;

const readLine = (line: string) =>
  readSettings(withOperands, { argv: line.split(' '), env: {}, operands: ['kind', 'names'] });

test('operands are settings without flags, in order, and the last one takes all further operands', () => {
  const all = { kind: 'a', names: ['b', 'c,d'], long: true, output: 'yaml' };
  assert.deepEqual(readLine('a -l b -o yaml c,d').values, all);
  assert.deepEqual(readLine('-lo yaml a b c,d').values, all);
  assert.deepEqual(readLine('a').values, { kind: 'a', long: false, output: 'json' });
  assert.deepEqual(readLine('a --kind b').faults, ['--kind: is given twice']);
});

test('an operand after -- that looks like a flag hides no further argument', () => {
  const { faults } = readSettings(table, { argv: ['--', '-abc', 'def'], env, operands: ['note'] });
  assert.deepEqual(faults, ['unexpected argument "def"']);
});

function readLong(argv: readonly string[], value?: string): unknown {
  const variables = { FAIRLEAD_KIND: 'a', ...(value !== undefined && { FAIRLEAD_LONG: value }) };
  const { values, faults } = readSettings(withOperands, { argv, env: variables });
  return values?.long ?? faults;
}

test('a boolean setting accepts its flag alone, a value after =, and its variable', () => {
  assert.equal(readLong([]), false);
  assert.equal(readLong(['--long']), true);
  assert.equal(readLong(['--long=false'], 'true'), false);
  assert.equal(readLong([], 'true'), true);
  const apart = readSettings({ long: withOperands.long }, { argv: ['--long', 'false'], env: {} });
  assert.deepEqual(apart.faults, ['unexpected argument "false"; write --long=false']);
  assert.deepEqual(readLong(['--long=yes']), ['--long: "yes" is not one of true, false']);
});

const fallback = (found: (name: string) => string | undefined) => ({
  kind: `after ${found('output')}`,
  output: 'yaml',
});

test('other settings are read after flags and variables, and receive them; unknown variables are no error then', () => {
  const readAfter = (argv: readonly string[], variables: NodeJS.ProcessEnv = {}) =>
    readSettings(withOperands, { argv, env: variables, fallback });
  assert.partialDeepStrictEqual(readAfter([]).values, { kind: 'after undefined', output: 'yaml' });
  const others = { FAIRLEAD_OUTPUT: 'json', FAIRLEAD_STRANGE: '1' };
  assert.partialDeepStrictEqual(readAfter([], others).values, { kind: 'after json', output: 'json' });
  assert.partialDeepStrictEqual(readAfter(['--kind=b'], others).values, { kind: 'b', output: 'json' });
  const broken = readSettings(withOperands, {
    argv: ['--kind=b'],
    env: {},
    fallback: () => {
      throw new Error('cannot be read');
    },
  });
  assert.deepEqual(broken.faults, ['cannot be read']);
  assert.deepEqual(readAfter(['--output=a', '--output=b']).faults, [
    '--output: is given twice',
    '--kind is required (or FAIRLEAD_KIND): a kind',
  ]);
});
