import assert from 'node:assert/strict';
import { createAdminSharing } from '../../../../../gateway/admin/sharing.ts';
import { attachmentTable } from '../../../../../gateway/tables/attachments.ts';
import { readUsage } from '../../../../../gateway/tables/reservations.ts';
import { copyGrantTable } from '../../../../../gateway/tables/copy-grants.ts';
import { grantTable } from '../../../../../gateway/tables/grants.ts';
import { createCopyGrants } from '../../../../../gateway/sharing/copies.ts';
import { createSharing } from '../../../../../gateway/sharing/grants.ts';
import { volumeTable } from '../../../../../gateway/tables/volumes.ts';
import { Problem, problemTable } from '../../../../../src/api/problem.ts';
import type { Capability } from '../../../../../src/api/storage.ts';
import { poll } from '../../../../../src/lib/concurrency.ts';
import { mounted, volumeSpec, type Gateway } from '../../../../harness/gateway.ts';
import { crash, type World } from '../../../../harness/model/world.ts';
import { aimAt, type Event } from './events.ts';
import {
  isVisible,
  mebibyte,
  outcomeOf,
  partsOf,
  quotas,
  sharesFrom,
  usageOf,
  type Name,
  type Operation,
  type Outcome,
  type State,
} from './rules.ts';

const names = Object.keys(quotas) as Name[];
const clusters = Object.fromEntries(
  names.map(name => [name, { name, acceptAnyNode: true, quota: quotas[name], sharesFrom: sharesFrom[name] }]),
);
const forReaders: Capability = { accessType: 'mount', accessMode: 'MULTI_NODE_READER_ONLY' };

/** The outcome of a request: `open` if it may or may not be done, `begun` if a part of it may be. */
type EndCode = Outcome['code'] | 'open' | 'begun';
type EndedOperation = { readonly operation: Operation; readonly ended: EndCode };

/**
 * Plays the event and returns the resulting state. Fails unless the answers and the state match some sequential order
 * of the requests. Calls `count` with each answer.
 */
export async function play(
  event: Event,
  { state, world, count }: { state: State; world: World; count: (what: string) => void },
): Promise<State> {
  const operations = event.drafts.map(draft => aimAt(state, draft));
  if (event.kind === 'ask' && event.crash) world.crashAt(event.at, event.crash);
  const first = event.kind === 'ask' ? event.at : 0;
  const told = await Promise.all(
    operations.map(async (operation, index): Promise<EndedOperation> => {
      const ended = await endOf(operation, world.gateway(first + index));
      return { operation, ended };
    }),
  );
  for (const { operation, ended } of told) count(`${operation.kind} ${ended}`);
  if (event.kind === 'ask' && event.crash) await world.restart(event.at);
  const gateway = world.gateway(1 - first);
  if (told.some(({ ended }) => ended === 'open')) await finish(gateway);
  const possible = ordersOf(told).flatMap(order => statesAfter(state, order));
  const found = await readState(gateway, world);
  const next = possible.find(one => show(one) === show(found));
  const message = `${JSON.stringify(told)}\nbefore ${show(state)}\nafter  ${show(found)}\nmay be ${possible.map(show).join('\n       ')}`;
  assert.ok(next, message);
  await assertViews(next, gateway);
  return next;
}

/**
 * Lists the possible orders. A volume is detached before its transfer, and another operation at that time may forbid
 * the transfer; while a share is revoked, it attaches nothing.
 */
function ordersOf(told: readonly EndedOperation[]): readonly (readonly EndedOperation[])[] {
  const [one, other] = told;
  if (!one || !other) return [told];
  const both = [
    [one, other],
    [other, one],
  ] as const;
  const begun = both
    .filter(([{ operation }]) => ['transfer', 'force revoke'].includes(operation.kind))
    .map(([first, second]) => [{ ...first, ended: 'begun' } as const, second, first]);
  return [...both, ...begun];
}

/** Lists the possible states after these operations in this order; none if their answers do not match it. */
function statesAfter(state: State, told: readonly EndedOperation[]): readonly State[] {
  const [first, ...others] = told;
  if (!first) return [state];
  const { operation, ended } = first;
  const outcome = outcomeOf(state, operation);
  const parts = partsOf(state, operation);
  const next = { open: [state, outcome.state, ...parts], begun: parts, [outcome.code]: [outcome.state] };
  return (next[ended] ?? []).flatMap(one => statesAfter(one, others));
}

async function endOf(operation: Operation, gateway: Gateway): Promise<EndCode> {
  try {
    await (isOfCopies(operation) ? askCopies(operation, gateway) : ask(operation, gateway));
    return 'ok';
  } catch (error) {
    if (error === crash) return 'open';
    if (!(error instanceof Problem)) throw error;
    // A copy that runs at the same time keeps its source.
    const isNeeded = error.detail.endsWith(' is being created from it');
    return problemTable[error.code].final && !isNeeded ? error.code : 'open';
  }
}

type CopyOperation = Extract<Operation, { readonly kind: 'copy' | 'grant copies' | 'revoke copies' }>;

function isOfCopies(operation: Operation): operation is CopyOperation {
  return ['copy', 'grant copies', 'revoke copies'].includes(operation.kind);
}

async function ask(operation: Exclude<Operation, CopyOperation>, gateway: Gateway): Promise<unknown> {
  const { kind, id } = operation;
  const sharing = createSharing({ ...gateway, clusters: () => clusters });
  const operators = createAdminSharing({ ...gateway, sharing, clusters: () => clusters });
  if (kind === 'transfer')
    return operators.transferVolume({ volumeId: id, body: { cluster: operation.to, dryRun: false } });
  if (kind === 'force revoke')
    return operators.revokeAdminGrant({ volumeId: id, grantee: operation.to, force: true, dryRun: false });
  const cluster = operation.by === undefined ? undefined : clusters[operation.by];
  if (kind === 'grant' || kind === 'revoke') {
    const key = { volumeId: id, grantee: operation.to, ...(cluster && { cluster }) };
    return kind === 'grant' ? sharing.grant(key, { access: operation.access }) : sharing.revoke(key);
  }
  assert.ok(cluster);
  const requiredBytes = 'size' in operation ? operation.size * mebibyte : 0;
  if (kind === 'create')
    return gateway.volumes.create(cluster, id, volumeSpec(id.slice(id.indexOf('.') + 1), { requiredBytes }));
  if (kind === 'delete') return gateway.volumes.delete(cluster, id);
  if (kind === 'expand') return gateway.changes.expand(cluster, id, { requiredBytes });
  // The storage knows nodes only by their id here.
  const key = { cluster, volumeId: id, nodeId: `${cluster.name}-${operation.node}` };
  if (kind === 'detach') return gateway.attachments.detach(key);
  const { readonly } = operation;
  return gateway.attachments.attach(key, { capability: readonly ? forReaders : mounted, readonly });
}

function askCopies(operation: CopyOperation, gateway: Gateway): Promise<unknown> {
  const { kind, id, by } = operation;
  const cluster = by === undefined ? undefined : (clusters[by] ?? assert.fail());
  if (kind === 'copy') {
    const source = { kind: 'volume', volumeId: operation.from } as const;
    const spec = volumeSpec(id.slice(id.indexOf('.') + 1), { requiredBytes: 0, source });
    return gateway.volumes.create(cluster ?? assert.fail(), id, spec);
  }
  const copies = createCopyGrants({ ...gateway, clusters: () => clusters });
  const key = { grantee: operation.to, ...(cluster && { cluster }) };
  return copies[kind === 'grant copies' ? 'grant' : 'revoke']({ kind: 'volume', id }, key);
}

async function finish({ recovery }: Gateway): Promise<void> {
  const isDone = await poll(async () => (await recovery.sweep()) === 0 || undefined, {
    everyMs: 10,
    timeoutMs: 10_000,
  });
  assert.ok(isDone, 'something stays unfinished');
}

/** Reads the state from the tables; fails unless the storage's access and the quotas' counts agree. */
async function readState({ engine: { reader } }: Gateway, { storage }: World): Promise<State> {
  const [records, grants, copyGrants, attachments] = await Promise.all([
    volumeTable.select(reader, {}),
    grantTable.select(reader, {}),
    copyGrantTable.select(reader, {}),
    attachmentTable.select(reader, {}),
  ]);
  const volumes = records.map(
    ({ id, cluster, state, pending, storageId, sizeBytes, reservedBytes, shared, source }) => {
      const given = grants.filter(({ volumeId }) => volumeId === id);
      const found = [cluster, state, pending, reservedBytes, shared];
      assert.deepEqual(found, [id.split('.')[0], 'ready', {}, sizeBytes, given.length > 0], id);
      const attached = attachments
        .filter(({ volumeId }) => volumeId === id)
        .map(({ cluster: holder, nodeId, readonly, state: now }) => {
          assert.equal(now, 'attached', id);
          return { cluster: holder, node: nodeId.slice(holder.length + 1), readonly };
        });
      // No grant is half revoked once everything is finished.
      assert.ok(!given.some(({ revoking }) => revoking), id);
      const granted = given.map(
        ({ cluster: holder, access, byOperator }) =>
          [holder, { access, byOperator, revoking: false }] as const,
      );
      const copiers = copyGrants
        .filter(one => one.id === id)
        .map(({ cluster: copier, byOperator }) => [copier, byOperator] as const);
      const volume = {
        storage: storageId ?? id,
        size: sizeBytes / mebibyte,
        grants: Object.fromEntries(granted),
        copiers: Object.fromEntries(copiers),
        ...(source?.kind === 'volume' && { source: source.volumeId }),
        attached,
      };
      return [id, volume] as const;
    },
  );
  const state: State = { volumes: Object.fromEntries(volumes), moved: {} };
  for (const { id } of copyGrants) assert.ok(id in state.volumes, id);
  const reached = await storage.attached();
  for (const { storage: id, attached } of Object.values(state.volumes))
    assert.deepEqual(
      [...(reached.get(id) ?? [])].sort(),
      attached.map(one => `${one.cluster}-${one.node}`).sort(),
      id,
    );
  for (const name of names) {
    const [used] = await readUsage(reader, name);
    assert.deepEqual([used?.volumes ?? 0, used?.bytes ?? 0], Object.values(usageOf(state, name)), name);
  }
  return state;
}

/** Fails unless each cluster sees exactly its own volumes and those shared with it. */
async function assertViews(state: State, { volumes }: Gateway): Promise<void> {
  for (const cluster of Object.values(clusters)) {
    const visible = Object.keys(state.volumes).filter(id => isVisible(state, id, cluster.name as Name));
    const listed = await volumes.list(cluster, { limit: 100, pageToken: undefined });
    assert.deepEqual(
      listed.volumes.map(({ id }) => id),
      visible.sort(),
    );
    for (const id of Object.keys(state.volumes)) {
      const code = await volumes.get(cluster, id).then(
        () => 'ok',
        (error: unknown) => (error as Problem).code,
      );
      assert.equal(code, visible.includes(id) ? 'ok' : 'NOT_FOUND', id);
    }
  }
}

/** Formats a state; equal states have the same text. */
function show({ volumes }: State): string {
  return JSON.stringify(volumes, inOrder);
}

function inOrder(_: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map(one => JSON.stringify(one)).sort();
  return value instanceof Object ? Object.fromEntries(Object.entries(value).sort()) : value;
}
