import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../../src/lib/log.ts';

function linesOf(format: 'text' | 'json'): { log: ReturnType<typeof createLog>; lines: string[] } {
  const lines: string[] = [];
  return { lines, log: createLog('gateway', 'info', { write: line => void lines.push(line), format }) };
}

test('a log for people has the time, the level, the words and the ids, on one line', () => {
  const { log, lines } = linesOf('text');
  log.warn('could not finish work', {
    volumeId: 'a.v',
    code: 'UNAVAILABLE',
    detail: 'the "far" pool\u001B[2J',
  });
  log.info('ready', { endpoint: 'http://127.0.0.1:1', durationMs: 3 });
  const [warning, ready] = lines;
  const words = 'could not finish work: the "far" pool\\u001b[2J  volumeId=a.v code=UNAVAILABLE';
  assert.equal(warning?.replace(/^\d\d:\d\d:\d\d /, ''), `warn  gateway: ${words}\n`);
  assert.match(
    ready ?? '',
    /^\d\d:\d\d:\d\d info {2}gateway: ready: http:\/\/127\.0\.0\.1:1 {2}durationMs=3\n$/,
  );
});

test('a stack follows its line, indented', () => {
  const { log, lines } = linesOf('text');
  log.error('unexpected', { stack: 'Error\n    at a' });
  assert.match(lines[0] ?? '', / error gateway: unexpected\n {2}Error\n {6}at a\n$/);
});

test('a log for programs is JSON', () => {
  const { log, lines } = linesOf('json');
  log.info('ready', { endpoint: 'x' });
  assert.partialDeepStrictEqual(JSON.parse(lines[0] ?? ''), {
    level: 'info',
    program: 'gateway',
    msg: 'ready',
  });
});
