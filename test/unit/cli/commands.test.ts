import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { commands } from '../../../src/cli/commands.ts';
import { listCommands } from '../../../src/cli/run.ts';
import { operatorCli, runCli } from '../../harness/cli/run-cli.ts';
import { mounted, volumeSpec } from '../../harness/gateway.ts';
import { runGateway } from '../../harness/gateway/program.ts';

/** Starts a gateway with two volumes of cluster a, one of them attached and with a snapshot, and one of cluster b. */
async function startFilled(t: TestContext) {
  const gateway = await runGateway(t);
  const call = {
    get deadlineMs() {
      return Date.now() + 60_000;
    },
  };
  const [a, b] = [gateway.client, gateway.clientOf('b')];
  const [volumeId, nodeId] = ['a.one', 'n1'];
  await a.createVolume({ volumeId, body: volumeSpec('one') }, call);
  await a.createVolume({ volumeId: 'a.two', body: volumeSpec('two', { requiredBytes: 2 ** 21 }) }, call);
  await b.createVolume({ volumeId: 'b.one', body: volumeSpec('one', { requiredBytes: 2 ** 22 }) }, call);
  await a.createSnapshot({ snapshotId: 'a.cut', body: { name: 'cut', volumeId } }, call);
  await a.putNode({ nodeId, body: { maxVolumes: 3 } }, call);
  await a.attachVolume({ volumeId, nodeId, body: { capability: mounted, readonly: false } }, call);
  return { fairlead: operatorCli(gateway), a, call };
}

const lists: readonly (readonly [line: string, stdout: string])[] = [
  ['get volumes -o name', 'a.one\na.two\nb.one\n'],
  ['get volumes -o name --limit 2', 'a.one\na.two\n'],
  ['get volumes -o name --cluster b', 'b.one\n'],
  ['get volumes -o name --cluster b -A', 'a.one\na.two\nb.one\n'],
  ['get volume -o name --cluster a two a.one', 'a.two\na.one\n'],
  ['get volumes --sort-by -size -o name', 'b.one\na.two\na.one\n'],
  ['get volumes --sort-by size --no-headers -o name', 'a.one\na.two\nb.one\n'],
  ['get volumes --sort-by -size --limit 2 -o name', 'b.one\na.two\n'],
  ['get volume -o name --cluster a b.one', 'b.one\n'],
  ['get snapshots -o name', 'a.cut\n'],
  ['get volumes -l cluster=b -o name', 'b.one\n'],
  ['get volumes -l cluster=a --cluster b -o name', 'a.one\na.two\n'],
  ['get volumes -l cluster!=a,pool=one,state=ready -o name', 'b.one\n'],
  ['get volumes -l pool!=one -o name', ''],
  ['get volumes -l attached=n1 -o name', 'a.one\n'],
  ['get volumes -l attached= -o name --limit 1', 'a.two\n'],
  ['get volumes -l size=2Mi -o name', 'a.two\n'],
  ['get volumes -l size=4194304 -o name', 'b.one\n'],
  ['get snapshots -l volume=a.one,cluster=a -o name', 'a.cut\n'],
  ['get pools -l cluster=a -o name', 'one\n'],
  ['get pools -l pool=one -o name', 'one\n'],
  ['get volumes -l volume=a.two -o name', 'a.two\n'],
  ['get clusters -l cluster!=a -o name', 'b\n'],
  ['get volumes -l cluster=a -o custom-columns=id,size', 'id     size\na.one  1Mi\na.two  2Mi\n'],
  ['get volumes a.one -o custom-columns=id,size --bytes', 'id     size\na.one  1048576\n'],
  [
    'get volumes -o custom-columns=ID:.id,BYTES:.sizeBytes,NODES:.attachments[*].nodeId --cluster a',
    'ID     BYTES    NODES\na.one  1048576  n1\na.two  2097152\n',
  ],
  ['get volumes -o custom-columns=M:.capabilities.accessMode --no-headers a.one', 'SINGLE_NODE_WRITER\n'],
  ['get nodes -o csv', 'id,volumes,max,topology,missing-for,addresses,cluster,node,key\na/n1,1,3,,,,a,n1,\n'],
  ['get pools --bytes --no-headers', 'one  memory  open  yes  1099511627776  7340032  0  0%  3\n'],
  ['get vol a.one -o name', 'a.one\n'],
  ['get snap -o name', 'a.cut\n'],
  ['get att -o name', 'a.one/a/n1\n'],
  ['get op -o name', ''],
  ['get attachments -o name', 'a.one/a/n1\n'],
  ['get attachments a.one -o name', 'a.one/a/n1\n'],
  ['get nodes --cluster a n1 -o name', 'a/n1\n'],
  ['get nodes', 'id    volumes  max  topology  missing-for\na/n1  1        3\n'],
  ['get nodes --no-headers', 'a/n1  1  3\n'],
  ['get clusters -o name', 'a\nb\n'],
  ['get operations -o name', ''],
  ['get queues -o name', ''],
  ['get operations -o json', '{\n  "operations": []\n}\n'],
  [
    'get pools',
    'id   backend  state  answers  total  reserved  deleted  used  volumes  fault\none  memory   open   yes      1Ti    7Mi       0        0%    3\n',
  ],
];
test("operators see the gateway's resources", async t => {
  const { fairlead, a, call } = await startFilled(t);
  for (const [line, stdout] of lists)
    await t.test(`fairlead ${line}`, async () => {
      const result = await fairlead(line);
      assert.deepEqual([result.stdout, result.status], [stdout, 0], result.stderr);
    });

  for (const kind of ['volumes', 'snapshots', 'attachments', 'nodes', 'pools', 'clusters', 'audit-log'])
    await t.test(
      `${kind} are the same in JSON and YAML, and have more columns in the wide table`,
      async () => {
        const written = async (output: string): Promise<string> =>
          (await fairlead(`get ${kind} -o ${output}`)).stdout;
        const json = JSON.parse(await written('json')) as Readonly<Record<string, readonly { id: string }[]>>;
        const member = kind === 'audit-log' ? 'auditLog' : kind;
        assert.deepEqual(Object.keys(json), [member]);
        assert.deepEqual(parse(await written('yaml')), json);
        const [narrow, wide] = [await written('table'), await written('wide')].map(text => text.split('\n'));
        assert.ok((wide?.[0]?.length ?? 0) > (narrow?.[0]?.length ?? 0));
        assert.equal(narrow?.length, (json[member]?.length ?? 0) + 2);
      },
    );

  await t.test(
    'get with a name prints the resource itself, and a missing one exits with status 2',
    async () => {
      const { stdout } = await fairlead('get volume a.one -o json');
      assert.partialDeepStrictEqual(JSON.parse(stdout), { id: 'a.one', attachments: [{ nodeId: 'n1' }] });
      const { status, ...some } = await fairlead('get volumes a.one a.none b.none -o name');
      assert.deepEqual([status, some.stdout], [2, 'a.one\n']);
      assert.equal(
        some.stderr,
        'there is no volume "a.none"; list all with fairlead get volumes -A\nthere is no volume "b.none"; list all with fairlead get volumes -A\n',
      );
      const none = await fairlead('get volume a.none -o json');
      assert.deepEqual([none.status, none.stdout], [2, '']);
    },
  );

  await t.test(
    'the log shows callers and their actions, the newest first, from a given time on',
    async () => {
      const { stdout } = await fairlead('get audit a.one --no-headers');
      const deeds = stdout.trimEnd().split('\n');
      assert.deepEqual(
        deeds.map(deed => deed.split(/ +/).slice(1)),
        [
          ['a', 'attach', 'a.one', 'n1', 'OK'],
          ['a', 'create', 'a.one', 'one', 'OK'],
        ],
      );
      const ofNode = await fairlead('get audit-log a/n1 --cluster a --since 1h -o json');
      assert.partialDeepStrictEqual(JSON.parse(ofNode.stdout), { auditLog: [{ operation: 'report' }] });
      const { status, stderr } = await fairlead('get audit-log --until 20h');
      assert.deepEqual([status, stderr], [0, 'no entries found\n']);
    },
  );

  await t.test(
    'a cluster that does not exist is an error of each command, and not an empty list',
    async () => {
      const fault = 'there is no cluster "aa"; list all with fairlead get clusters -A\n';
      for (const line of [
        'get volumes --cluster aa',
        'get volumes --cluster aa -o json',
        'get volumes one two --cluster aa',
        'get snapshots -l cluster=aa',
        'get audit-log --cluster aa',
        'get clusters --cluster aa',
        'describe volume one --cluster aa',
      ])
        assert.deepEqual(await fairlead(line), { status: 2, stdout: '', stderr: fault }, line);
      const top = await fairlead('top --cluster aa');
      assert.deepEqual([top.status, top.stderr], [1, `fairlead top: ${fault}`]);
      const empty = await fairlead('get snapshots --cluster b');
      assert.deepEqual(empty, { status: 0, stdout: '', stderr: 'no snapshots found\n' });
    },
  );

  await t.test('a name that exists but does not meet the conditions is missing', async () => {
    const { status, stdout, stderr } = await fairlead('get volumes a.one a.two -l attached=n1 -o name');
    assert.deepEqual([status, stdout], [2, 'a.one\n']);
    assert.match(stderr, /^there is no volume "a\.two" with attached=n1; /);
  });

  await t.test('CSV has all columns, with sizes in bytes and ages in seconds, also of changes', async () => {
    const { stdout } = await fairlead('get volumes -o csv -l cluster=a');
    assert.match(stdout, /^id,state,pool,size,.*\na\.one,ready,one,1048576,n1,\d+,a,1048576,mount:/);
    const watched = await fairlead('get volumes --watch -o csv', { until: text => text.includes('b.one') });
    assert.match(watched.stdout, /^event,id,state,.*\nadded,a\.one,ready,one,1048576,n1,\d+,a,/);
  });

  await t.test('a description has the related resources', async () => {
    const { status, stdout } = await fairlead('describe volume one --cluster a');
    assert.equal(status, 0);
    const parts = [
      /^id: +a\.one$/m,
      /^health: +no problems reported$/m,
      /^attachments:\n.*\n +a\.one +n1 /m,
      /^snapshots:\n.*\n +a\.cut /m,
      /^copies:\n +none$/m,
      /^operations:\n +none$/m,
      /^audit-log:\n.*\n.* attach +a\.one +n1 +OK$/m,
    ];
    for (const part of parts) assert.match(stdout, part);
    const json = JSON.parse((await fairlead('describe volume a.one -o json')).stdout) as object;
    const logged = { copies: [], auditLog: [{ operation: 'attach', resource: 'a.one' }] };
    assert.partialDeepStrictEqual(json, { volume: { id: 'a.one' }, health: { entries: [] }, ...logged });
    for (const line of [
      'vol a.one',
      'snap a.cut',
      'snapshot a.cut',
      'attachment a.one',
      'node a/n1',
      'pool one',
      'cluster a',
    ])
      assert.equal((await fairlead(`describe ${line}`)).status, 0, line);
    const none = await fairlead('describe node a/n2');
    assert.deepEqual(
      [none.status, none.stdout, none.stderr],
      [2, '', 'there is no node "a/n2"; list all with fairlead get nodes -A\n'],
    );
  });

  await t.test(
    'an attached and ready volume waits for nothing, and a missing one exits with status 2',
    async () => {
      const well = await fairlead('explain a.one');
      assert.equal(well.status, 0);
      assert.match(
        well.stdout,
        /^volume "a\.one" waits for nothing: it is ready\n.* node "n1" of cluster "a"\n/,
      );
      const stranger = await fairlead('explain c.none');
      assert.deepEqual([stranger.status, stranger.stderr], [2, '']);
      assert.match(stranger.stdout, /cluster "c" is not enrolled\n {4}run fairlead enroll c, /);
    },
  );

  await t.test('operations are shown once without a terminal, and redrawn in one', async () => {
    const plain = await fairlead('top');
    assert.equal(plain.status, 0);
    assert.match(plain.stdout, /^operations \(0\)\nnone\n\nqueues \(0\)\nnone\n\npools \(1\)\n/m);
    assert.equal(plain.stdout.includes('\u001B'), false);
    let looks = 0;
    const until = (): boolean => ++looks === 2;
    const live = await fairlead('top --every 1ms', { isTerminal: true, until });
    assert.equal(live.stdout.split('\u001B[H').length, 3);
  });

  await t.test('a watch prints each added, changed and removed resource as a line', async () => {
    const body = volumeSpec('new');
    const steps: readonly (readonly [RegExp, () => Promise<unknown>])[] = [
      [/^added +b\.one/m, () => a.createVolume({ volumeId: 'a.new', body }, call)],
      [
        /^added +a\.new/m,
        () => a.expandVolume({ volumeId: 'a.new', body: { requiredBytes: 2 ** 21 } }, call),
      ],
      [/^changed +a\.new +ready +one +2Mi/m, () => a.deleteVolume({ volumeId: 'a.new' }, call)],
    ];
    const left = [...steps];
    const until = (stdout: string): boolean => {
      if (left[0]?.[0].test(stdout)) void left.shift()?.[1]();
      return /^removed +a\.new/m.test(stdout);
    };
    const { status, stdout } = await fairlead('get volumes --watch --watch-every 5ms', { until });
    assert.equal(status, 0);
    assert.match(stdout, /^event +id +state /);
    assert.deepEqual(left, []);
  });

  await t.test('only states that need attention are coloured in a terminal', async () => {
    const { stdout } = await fairlead('get volumes', { isTerminal: true });
    assert.match(stdout, /^<bold>id<\/>/);
    assert.doesNotMatch(stdout, /<yellow>/);
  });
});

const bad: readonly (readonly [line: string, stderr: RegExp])[] = [
  ['get', /^$/],
  [
    'get volum',
    /^fairlead get: unknown command "volum" \(did you mean "volumes"\?\); the commands are volumes, /,
  ],
  ['get vols', /^fairlead get: unknown command "vols" \(did you mean "vol"\?\); the commands are volumes, /],
  ['help gte', /^fairlead: unknown command "gte" \(did you mean "get"\?\)/],
  ['help get volum', /^fairlead get: unknown command "volum" \(did you mean "volumes"\?\)/],
  ['got volumes', /^fairlead: unknown command "got" \(did you mean "get"\?\)/],
  ['get volumes -x', /^fairlead get volumes: unknown flag -x\n$/],
  [
    'get volumes --sort size',
    /unknown flag --sort \(did you mean "--sort-by"\?\)\n.*unexpected|unknown flag --sort /,
  ],
  [
    'get volumes -o xml',
    /--output: "xml" is not one of table, wide, csv, json, yaml, name, custom-columns=COLUMN,…\n$/,
  ],
  ['get volumes -o custom-columns=', /--output: "custom-columns=" is not one of /],
  [
    'get volumes --key-file /none -o custom-columns=siz',
    /: --output: there is no column "siz" \(did you mean "size"\?\); the columns are id, .*; for any member write HEAD:\.member\n$/,
  ],
  [
    'get volumes --key-file /none -o custom-columns=SIZE:sizeBytes',
    /--output: "SIZE:sizeBytes" is not HEAD:PATH, such as SIZE:\.sizeBytes\n$/,
  ],
  [
    'get volumes --key-file /none -o custom-columns=SIZE:.sizeByte',
    /--output: a volume has no member "sizeByte" \(did you mean "sizeBytes"\?\); its members are id, /,
  ],
  [
    'get volumes --key-file /none -o custom-columns=N:.attachments.node',
    /--output: "attachments" of a volume has no member "node" \(did you mean "nodeId"\?\); its members are cluster, /,
  ],
  [
    'get volumes --key-file /none -l pol=fast',
    /--selector: there is no column "pol" \(did you mean "pool"\?\); the columns are id, /,
  ],
  [
    'get pools --key-file /none -l node=n1',
    /--selector: there is no column "node"; the columns are id, .*, pool; cluster=NAME selects those of a cluster\n$/,
  ],
  [
    'get pools --key-file /none -l cluster!=a',
    /--selector: these entries have no cluster, but cluster=NAME selects those of a cluster; the columns are id, /,
  ],
  [
    'get volumes --key-file /none -l fast',
    /--selector: "fast" is not a condition; write COLUMN=VALUE or COLUMN!=VALUE, such as pool=fast\n$/,
  ],
  [
    'get volumes --key-file /none -l pool=a,pool=b',
    /--selector: nothing has two values of pool at once: a, b\n$/,
  ],
  [
    'get volumes --key-file /none -l cluster=a,cluster=b',
    /--selector: nothing has two values of cluster at once: a, b\n$/,
  ],
  [
    'get volumes --key-file /none --sort-by siz',
    /--sort-by: there is no column "siz" \(did you mean "size"\?\); the columns are id, /,
  ],
  [
    'get audit-log --since yesterday',
    /--since: "yesterday" is neither a time such as .* nor an age such as 1h\n$/,
  ],
  ['get volumes --limit 0', /--limit: "0" is not a whole number from 1 /],
  ['describe volume', /--name is required \(or FAIRLEAD_NAME\)/],
  ['describe volume a.one a.two', /unexpected argument "a\.two"\n$/],
  [
    'get volumes --key-file /none --token-file /none',
    /--key-file "\/none" and --token-file "\/none" are both given: leave one out\n$/,
  ],
  [
    'get volumes --key-file /none',
    /^fairlead get volumes: .*key file "\/none" cannot be read: it does not exist, or its directory does not\n$/,
  ],
  [
    'get volumes',
    /there are no credentials: give --key-file or --token-file, or use a context that has one\n$/,
  ],
  ['get volumes --gateway http://192.0.2.1', /use https, or --allow-http\n$/],
  [
    'get volumes --context none',
    /there is no context "none"; create it with fairlead config set-context none --gateway URL\n/,
  ],
];

for (const [line, stderr] of bad)
  test(`fairlead ${line} is refused with one clear line and status 1`, async () => {
    const env = {
      FAIRLEAD_GATEWAY: 'http://127.0.0.1:1',
      XDG_CONFIG_HOME: '/nonexistent',
      FAIRLEAD_OTHER: 'x',
    };
    const result = await runCli(line, { env });
    assert.equal(result.status, 1);
    assert.match(result.stderr, stderr);
    if (line !== 'get') assert.equal(result.stdout, '');
  });

test('a node is shown and found by its name, and by its key if requested', async t => {
  const { fairlead, a, call } = await startFilled(t);
  const nodeId = `n7~${'K'.repeat(43)}`;
  await a.putNode({ nodeId, body: {} }, call);
  const body = { capability: mounted, readonly: false };
  await a.attachVolume({ volumeId: 'a.two', nodeId, body }, call);
  const lines: readonly (readonly [line: string, found: RegExp])[] = [
    ['get nodes', /^a\/n7 +1 *$/m],
    ['get nodes a/n7 -o wide', /^a\/n7 .* n7 +K{43}$/m],
    ['get nodes -o name', /^a\/n7~K{43}$/m],
    ['get node a/n7 -o json', /"id": "a\/n7~K{43}"/],
    [`get node a/${nodeId} -o name`, /^a\/n7~K{43}$/m],
    ['get attachments a.two', /^a\.two +n7 /m],
    ['get volume a.two', / n7( |$)/m],
    ['describe node a/n7', /^attachments:\n.*\n +a\.two +n7 /m],
  ];
  for (const [line, found] of lines) {
    const { stdout, stderr } = await fairlead(line);
    assert.match(stdout, found, `${line}: ${stdout}${stderr}`);
  }
});

test('help COMMAND is COMMAND --help, for groups and for commands below them', async () => {
  for (const command of ['status', 'get', 'get volumes', 'describe vol', 'admin drain']) {
    const [asked, flagged] = [await runCli(`help ${command}`), await runCli(`${command} --help`)];
    assert.deepEqual(asked, flagged, command);
    assert.equal(asked.status, 0);
  }
  assert.match((await runCli('help get')).stdout, /^ {2}volumes, volume, vol +volumes in any state/m);
});

test('a mistyped cluster is an error that names the similar one', async t => {
  const fairlead = operatorCli(await runGateway(t, { clusters: { east: { keys: 'a.jwks.json' } } }));
  const { status, stderr } = await fairlead('get volumes --cluster eats');
  assert.deepEqual([status, stderr.split(';')[0]], [2, 'there is no cluster "eats" (did you mean "east"?)']);
});

test('every setting for a file takes a path relative to the working directory', async () => {
  const settings = (await listCommands({ path: 'fairlead', commands })).flatMap(({ path, command }) =>
    Object.entries(command.settings)
      .filter(([name]) => name.endsWith('-file'))
      .map(([name, setting]) => [`${path} --${name}`, resolve(String(setting.parse('keys/a.json')))]),
  );
  assert.ok(settings.length > 20);
  const path = resolve('keys/a.json');
  assert.deepEqual(
    settings,
    settings.map(([name]) => [name, path]),
  );
});
