import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import type { Engine } from '../../gateway/store.ts';
import { inspect, migrate, schemaVersion, tables } from '../../gateway/tables/schema.ts';
import { moveReservation, readUsage } from '../../gateway/tables/reservations.ts';
import { volumeTable } from '../../gateway/tables/volumes.ts';
import { emptyVolumeRecord } from '../../gateway/volumes/record.ts';
import type { MakeDatabase } from './store.ts';

/** The columns and indexes of a database, except defaults and the order of columns. */
type Catalog = readonly string[];

const directory = join(import.meta.dirname, 'migrations');
const versions = globSync(`${directory}/*.sql`)
  .map(file => Number(basename(file, '.sql')))
  .sort((a, b) => a - b);

/** Reads the statements that made a version's tables, one a line. */
const statementsOf = (version: number): readonly string[] =>
  readFileSync(join(directory, `${version}.sql`), 'utf8')
    .trim()
    .split(';\n');

/** Removes line breaks and indentation from a statement. */
const toLine = (statement: string): string => statement.replaceAll(/\s+/g, ' ').replace(/;$/, '');

/** Tests the contract of `migrate` on one engine; `skip` is the reason to skip. */
export function testMigrations(
  make: MakeDatabase,
  { catalog, skip = false }: { readonly catalog: Catalog; readonly skip?: string | false },
): void {
  test('the first start makes the tables, and the next one finds them', { skip }, async t => {
    const engine = await (await make(t)).open();
    const look = () => inspect(engine.reader, { isAdopted: false });
    assert.deepEqual(await look(), { id: undefined, version: 0 });
    const id = await migrate(engine);
    await addNode(engine);
    assert.deepEqual(await look(), { id, version: schemaVersion });
    assert.equal(await migrate(engine), id);
    assert.equal((await engine.reader.all('select * from nodes')).length, 1);
  });

  test('gateways that start at the same time on a new store find the same tables', { skip }, async t => {
    const database = await make(t);
    const engines = await Promise.all([database.open(), database.open(), database.open()]);
    const ids = await Promise.all(engines.map(one => migrate(one)));
    assert.equal(new Set(ids).size, 1);
    for (const engine of engines) assert.deepEqual(await engine.reader.all('select * from volumes'), []);
  });

  test('capacity that other gateways reserve during a start is counted once', { skip }, async t => {
    const database = await make(t);
    const [starting, other] = [await database.open(), await database.open()];
    await migrate(starting);
    const starts = async (): Promise<void> => {
      for (let round = 0; round < 20; round++) await migrate(starting);
    };
    const reserves = async (name: string): Promise<void> => {
      for (let round = 0; round < 50; round++) await reserve(other, `c${round}`, `c${round}.${name}`);
    };
    await Promise.all([starts(), ...['one', 'two', 'three'].map(reserves)]);
    const sums = await starting.reader.all(
      'select sum(bytes) as bytes, sum(volumes) as volumes from reservations group by cluster order by cluster',
    );
    // The first sum is the one over all clusters.
    assert.deepEqual(
      sums.map(({ bytes, volumes }) => ({ bytes, volumes })),
      [150, ...Array.from({ length: 50 }, () => 3)].map(sum => ({ bytes: sum, volumes: sum })),
    );
  });

  test(
    'a store of an older release is left unchanged if other replicas may be using it',
    { skip },
    async t => {
      const engine = await (await make(t)).open();
      await migrate(engine, { ifOlder: 'refuse' });
      await engine.transaction(sql => sql.run('update schema_version set version = ?', schemaVersion - 1));
      await assert.rejects(
        migrate(engine, { ifOlder: 'refuse' }),
        /^Error: the store has schema version \d+, and this gateway needs \d+; stop all gateways of the older release,/,
      );
      assert.equal((await inspect(engine.reader, { isAdopted: false })).version, schemaVersion - 1);
    },
  );

  test('a store that a newer gateway has changed is refused with a one-line error', { skip }, async t => {
    const engine = await (await make(t)).open();
    await migrate(engine);
    await engine.transaction(sql => sql.run('update schema_version set version = 99'));
    await assert.rejects(
      migrate(engine),
      /^Error: the store has schema version 99, but this gateway supports at most \d+; start a newer release$/,
    );
  });

  for (const version of versions)
    test(
      `migrate turns a store of version ${version} into a new one and keeps its rows`,
      { skip },
      async t => {
        const fresh = await (await make(t)).open();
        await migrate(fresh);
        const database = await make(t);
        const old = await database.open();
        await openOld(old, version);
        const others = await Promise.all([database.open(), database.open()]);
        await Promise.all([old, ...others].map(one => migrate(one)));
        assert.deepEqual(await describe(old, catalog), await describe(fresh, catalog));
        await assertKept(old, version);
      },
    );

  test('the next start continues after a gateway died at any step', { skip }, async t => {
    const database = await make(t);
    const engine = await database.open();
    await openOld(engine, versions[0] ?? 0);
    for (const version of versions.slice(1)) {
      await assert.rejects(migrate(endAfterOne(engine)), /died/);
      assert.equal((await engine.reader.all('select version from schema_version'))[0]?.['version'], version);
    }
    await migrate(engine);
  });
}

test('the tables of this version are recorded for later versions', () => {
  const current = tables.flatMap(({ ddl }) => ddl).map(toLine);
  assert.deepEqual(statementsOf(schemaVersion).map(toLine), current, current.join(';\n'));
});

/** The values of rows by table and column, in columns that several versions share. */
const rowsKept: Readonly<Record<string, Readonly<Record<string, string | number>>>> = {
  volumes: {
    id: 'a.kept',
    nonce: 'n-1',
    cluster: 'a',
    name: 'kept',
    pool: 'main',
    state: 'ready',
    spec: '{"capabilities":[]}',
    source: 'snapshot a.gone',
    size_bytes: 2 ** 40,
    reserved_bytes: 2 ** 40,
    context: '{"key":"ü"}',
    created_at_ms: 1_700_000_000_000,
    mutable_parameters: '{"tier":"fast"}',
    node_expansion_required: 1,
    used_raw: 1,
    pending: '{"expansion":{"requiredBytes":1,"limitBytes":0}}',
    segments: '{"zone":"z"}',
    storage_id: 'b.first',
    shared: 1,
  },
  snapshots: {
    id: 'a.cut',
    nonce: 'n-2',
    cluster: 'a',
    name: 'cut',
    pool: 'main',
    volume_id: 'a.kept',
    member: 0,
    state: 'ready',
    parameters: '{}',
    size_bytes: 7,
    reserved_bytes: 7,
    created_at_ms: 1,
    encryption: 'luks2',
  },
  attachments: {
    volume_id: 'a.kept',
    cluster: 'a',
    node_id: 'n1',
    attachment_id: 'att-1',
    state: 'attached',
    capability: '{"accessType":"block","accessMode":"SINGLE_NODE_WRITER"}',
    readonly: 0,
    reach: '{"protocol":"loop"}',
    size_bytes: 2 ** 40,
  },
  nodes: { cluster: 'a', node_id: 'n1', spec: '{"maxVolumes":3}' },
};

/** Drops the values of columns that this version's tables lack. */
function rowsOf(version: number) {
  return Object.entries(rowsKept).map(([table, row]) => {
    const ddl = statementsOf(version).find(statement => statement.startsWith(`create table ${table} `)) ?? '';
    const known = Object.entries(row).filter(([column]) => ddl.includes(` ${column} `));
    return { table, columns: known.map(([column]) => column), values: known.map(([, value]) => value) };
  });
}

/** Fails unless the rows are unchanged, readable by this release, and counted. */
async function assertKept({ reader }: Engine, version: number): Promise<void> {
  for (const { table, columns, values } of rowsOf(version)) {
    const found = await reader.all(`select ${columns.join(', ')} from ${table}`);
    assert.deepEqual(
      found.map(row => columns.map(column => String(row[column]))),
      [values.map(String)],
      table,
    );
  }
  const volume = await volumeTable.find(reader, { id: 'a.kept' });
  const known = rowsOf(version)[0]?.columns ?? [];
  assert.deepEqual(
    [volume?.sizeBytes, volume?.nonce, volume?.storageId, volume?.shared],
    [
      2 ** 40,
      known.includes('nonce') ? 'n-1' : '',
      known.includes('storage_id') ? 'b.first' : undefined,
      known.includes('shared'),
    ],
  );
  assert.deepEqual(await readUsage(reader, 'a'), [
    { pool: 'main', bytes: 2 ** 40 + 7, volumes: 1, snapshots: 1, deletedBytes: 0, deletedVolumes: 0 },
  ]);
}

/** Makes the tables of a version, with a volume, a snapshot, an attachment and a node in them. */
async function openOld(engine: Engine, version: number): Promise<void> {
  await engine.transaction(async sql => {
    for (const statement of statementsOf(version)) await sql.run(toLine(statement));
    await sql.run('create table schema_version (version integer not null)');
    await sql.run('insert into schema_version (version) values (?)', version);
    for (const { table, columns, values } of rowsOf(version)) {
      const marks = columns.map(() => '?').join(', ');
      await sql.run(`insert into ${table} (${columns.join(', ')}) values (${marks})`, ...values);
    }
  });
}

function addNode(engine: Engine): Promise<number> {
  return engine.transaction(sql =>
    sql.run("insert into nodes (cluster, node_id, spec) values ('a', 'n1', '{}')"),
  );
}

/** Wraps the engine of a gateway that dies after its first transaction. */
function endAfterOne(engine: Engine): Engine {
  let isFirst = true;
  return {
    ...engine,
    async transaction(work) {
      if (!isFirst) throw new Error('died');
      isFirst = false;
      return engine.transaction(work);
    },
  };
}

async function describe({ reader }: Engine, catalog: Catalog): Promise<readonly string[]> {
  const rows = await Promise.all(catalog.map(query => reader.all(query)));
  return rows
    .flat()
    .map(row => Object.values(row).join(' '))
    .sort();
}

function reserve(engine: Engine, cluster: string, id: string): Promise<void> {
  return engine.transaction(async sql => {
    const known = { id, cluster, name: id, pool: 'main', source: undefined, spec: { capabilities: [] } };
    const volume = { ...emptyVolumeRecord(known), reservedBytes: 1 };
    await moveReservation(sql, undefined, volume);
    await volumeTable.add(sql, volume);
  });
}
