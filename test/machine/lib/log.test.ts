import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';

const log = new URL('../../../src/lib/log.ts', import.meta.url).href;

/** Runs statements that use `log` in a separate process, to observe its real output. */
function run(level: string, statements: string): Promise<ExecResult> {
  const source = `import { createLog } from '${log}'; const log = createLog('controller', '${level}'); ${statements}`;
  return exec(process.execPath, ['--input-type=module', '-e', source], { timeoutMs: 20_000 });
}

for (const [level, messages] of [
  ['debug', 'diwe'],
  ['warn', 'we'],
  ['silent', ''],
] as const)
  test(`at level ${level} the lines written are "${messages}", on standard error alone`, async () => {
    const all = "log.debug('d'); log.info('i'); log.warn('w'); log.error('e');";
    const { status, stdout, stderr } = await run(level, all);
    assert.deepEqual([status, stdout], [0, '']);
    const found = linesOf(stderr).map(line => line['msg']);
    assert.equal(found.join(''), messages);
  });

test('a line is JSON with level, time, program and the listed fields, for every input', async () => {
  const fields = "{ rpc: 'Probe', status: 5, detail: 'c\\nd', token: 'canary', err: new Error('canary') }";
  const { stderr } = await run('info', `log.warn('a\\nb', ${fields})`);
  const [{ time, ...rest } = {}, ...more] = linesOf(stderr);
  assert.equal(more.length, 0);
  assert.ok(!Number.isNaN(Date.parse(String(time))));
  const expected = {
    level: 'warn',
    program: 'controller',
    rpc: 'Probe',
    status: 5,
    detail: 'c\nd',
    msg: 'a\nb',
  };
  assert.deepEqual(rest, expected);
});

test('a process with many logs writes only lines, and adds one listener', async () => {
  const many = "for (let i = 0; i < 20; i++) createLog('controller', 'info');";
  const { stderr } = await run('info', `${many} log.info(String(process.stderr.listenerCount('error')))`);
  assert.deepEqual(
    linesOf(stderr).map(({ msg }) => msg),
    ['1'],
  );
});

test('a program continues after the reader of its standard error has gone', async () => {
  const source = `import { createLog } from '${log}';
    import { writeSync } from 'node:fs';
    const log = createLog('node', 'info');
    process.stdin.once('data', () => {
      for (let i = 0; i < 100; i++) log.info('unread');
      setTimeout(() => { writeSync(1, 'alive'); process.exit(0); }, 100);
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source]);
  child.stderr.destroy();
  child.stdin.end('go');
  assert.equal(await text(child.stdout), 'alive');
});

test('output for a stalled reader is bounded, and complete lines follow once it reads again', async t => {
  const source = `import { createLog } from '${log}';
    import { writeSync } from 'node:fs';
    const log = createLog('node', 'info');
    for (let i = 0; i < 5_000; i++) log.info('x'.repeat(1_000));
    writeSync(1, process.stderr.writableLength + ' ');
    process.stdin.once('data', () => {
      if (process.stderr.writableLength === 0) log.info('read again');
      else process.stderr.once('drain', () => log.info('read again'));
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source]);
  t.after(() => child.kill());
  const [waiting] = (await once(child.stdout, 'data')) as [Buffer];
  assert.ok(Number(waiting) > 2 ** 20 && Number(waiting) < 2 ** 21, `${Number(waiting)} characters wait`);
  child.stdin.end('go');
  const lines = linesOf(await text(child.stderr));
  assert.ok(lines.length < 5_000);
  assert.equal(lines.at(-1)?.['msg'], 'read again');
});

function linesOf(lines: string): Record<string, unknown>[] {
  return lines
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>);
}
