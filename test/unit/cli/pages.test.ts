import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { Queue } from '../../../src/api/admin.ts';
import { operatorCli } from '../../harness/cli/run-cli.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { createSigner } from '../../harness/gateway/signers.ts';
import { listen } from '../../harness/listen.ts';

/** Two pages. The second has the wider cells. */
const pages: readonly (readonly Queue[])[] = [
  [queueOf('one/a'), queueOf('one/b')],
  [queueOf('two/a-longer-name'), queueOf('two/c')],
];
const queues = pages.flat();

function queueOf(id: string): Queue {
  const [pool = '', cluster = ''] = id.split('/');
  return { id, pool, cluster, waiting: 1, running: 2, limit: 16, oldestWaitMs: 2_000 };
}

const table = `id     waiting  running  limit  oldest
one/a  1        2        16     2s
one/b  1        2        16     2s
two/a-longer-name  1        2        16     2s
two/c              1        2        16     2s
`;

test('a list is printed page by page, in every format', async t => {
  let printed = 0;
  let printedBefore: number[] = [];
  const server = createServer((request, response) => {
    printedBefore.push(printed);
    const token = new URL(request.url ?? '', 'http://x').searchParams.get('pageToken') ?? '';
    const index = Number(token);
    const nextPageToken = index + 1 < pages.length ? { nextPageToken: String(index + 1) } : {};
    const id = new URL(request.url ?? '', 'http://x').searchParams.get('id');
    const named = queues.filter(one => one.id === id);
    const body = JSON.stringify(id === null ? { queues: pages[index], ...nextPageToken } : { queues: named });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  const url = `http://${await listen(t, server)}`;
  const signers = { operators: await createSigner('operators') };
  const fairlead = operatorCli({ url, directory: temporaryDirectory(t), signers });
  const print = async (flags: string): Promise<string> => {
    [printed, printedBefore] = [0, []];
    const until = (stdout: string): boolean => (printed = stdout.length) < 0;
    const { status, stdout, stderr } = await fairlead(`get queues ${flags}`, { until });
    assert.deepEqual([status, stderr], [0, ''], flags);
    return stdout;
  };
  const isStreamed = (): boolean => printedBefore.length === 2 && (printedBefore[1] ?? 0) > 0;

  for (const [flags, read] of [
    ['-o json', (text: string): unknown => JSON.parse(text)],
    ['-o yaml', (text: string): unknown => parse(text)],
  ] as const) {
    assert.deepEqual(read(await print(flags)), { queues }, flags);
    assert.ok(isStreamed(), flags);
  }
  assert.equal(await print('-o json'), `${JSON.stringify({ queues }, undefined, 2)}\n`);
  for (const [flags, expected] of [
    ['', table],
    ['-o name', queues.map(({ id }) => `${id}\n`).join('')],
    [
      '-o custom-columns=id,limit --no-headers',
      queues.map(({ id }) => `${id.padEnd(widthAt(id))}  16\n`).join(''),
    ],
    ['-o custom-columns=waiting,limit --no-headers', '1  16\n'.repeat(queues.length)],
    ['-o csv', `id,waiting,running,limit,oldest,pool,cluster\n${queues.map(toLine).join('')}`],
  ] as const) {
    assert.equal(await print(flags), expected, flags);
    assert.ok(isStreamed(), flags);
  }
  const named = await print('one/a two/a-longer-name -o custom-columns=id,limit --no-headers');
  assert.equal(named, 'one/a              16\ntwo/a-longer-name  16\n', 'named entries line up');
  await print('--sort-by -id');
  assert.ok(!isStreamed(), 'all entries are sorted at once');
});

/** Returns the width of the first column when this id is printed. */
function widthAt(id: string): number {
  return id.startsWith('one') ? 'one/a'.length : 'two/a-longer-name'.length;
}

function toLine({ id, pool, cluster }: Queue): string {
  return `${id},1,2,16,2,${pool},${cluster}\n`;
}

test('a list that the gateway has only by id cannot be sorted and limited', async t => {
  const signers = { operators: await createSigner('operators') };
  const directory = temporaryDirectory(t);
  const fairlead = operatorCli({ url: 'http://127.0.0.1:1', directory, signers });
  for (const flags of ['--sort-by pool', '--sort-by size -l pool=fast', '--sort-by size --cluster a']) {
    const { status, stdout, stderr } = await fairlead(`get volumes ${flags} --limit 10`);
    assert.deepEqual([status, stdout], [1, ''], flags);
    assert.match(stderr, /^fairlead get volumes: --limit: the gateway lists by id, .* leave out --limit/);
  }
  // A log's limit chooses the newest entries, which can be sorted: only the gateway is missing here.
  assert.match((await fairlead('get audit --sort-by operation')).stderr, /refuses connections/);
});
