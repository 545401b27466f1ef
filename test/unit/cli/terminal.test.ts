import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTerminal } from '../../../src/cli/output/terminal.ts';
import { toJson, toOutput } from '../../../src/cli/output/formats.ts';
import { runCommand, type Io } from '../../../src/cli/run.ts';
import { toPrintableJson } from '../../../src/lib/json.ts';

const evil = '\u001B[2J\u001B]52;c;eA==\u0007\u009B31m\rok\u202E\u2066\u200B';
/** Characters that control a terminal. */
const acting = /[\p{Cc}\u202A-\u202E\u2066-\u2069\u200B-\u200F]/u;

test('foreign text reaches a terminal without control characters, and our own text unchanged', () => {
  const written: string[] = [];
  const { write, own } = createTerminal(text => written.push(text));
  write(`${evil}\n`);
  write(`${own('\u001B[1mbold\u001B[22m')} ${evil} ${own('\u001B[H')}\n`);
  assert.equal(written[0], '?[2J?]52;c;eA==??31m?ok???\n');
  assert.equal(written[1]?.split('\u001B').length, 4);
  assert.ok(written[1]?.startsWith('\u001B[1mbold\u001B[22m ?[2J'));
});

test('JSON and YAML have the same content, and neither controls a terminal', async () => {
  const data = { [evil]: [evil, 'plain é 字 🙂', { nested: `\n${evil}` }] };
  const text = toJson(data);
  assert.deepEqual(JSON.parse(text), data);
  assert.doesNotMatch(text.replaceAll('\n', ''), acting);
  assert.deepEqual(JSON.parse(toPrintableJson(JSON.stringify(data))), data);
  assert.equal(await toOutput(data, 'json'), `${text}\n`);
});

test('all output and all errors of a command leave by one exit', async () => {
  for (const isTerminal of [true, false]) {
    const written = { out: '', err: '' };
    const io: Io = {
      out: text => (written.out += text),
      err: text => (written.err += text),
      env: {},
      isTerminal,
      style: (_, text) => `\u001B[1m${text}\u001B[22m`,
    };
    const run = async (_: object, { out, err, style, steer = text => text }: Io): Promise<void> => {
      out(`${steer('\u001B[H')}${style('bold', evil)}\n`);
      err(`${evil}\n`);
      throw new Error(evil);
    };
    const commands = { evil: { doc: '', settings: {}, run } };
    assert.equal(await runCommand(['evil'], { path: 'fairlead', commands }, io), 1);
    assert.doesNotMatch(written.err.replaceAll('\n', ''), acting);
    const own = ['\u001B[H', '\u001B[1m', '\u001B[22m', '\n'];
    const foreign = own.reduce((text, sequence) => text.replaceAll(sequence, ''), written.out);
    assert.doesNotMatch(foreign, acting);
    assert.ok(written.out.startsWith('\u001B[H\u001B[1m?[2J'));
  }
});
