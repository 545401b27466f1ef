import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { vendorOperations, type OperationId } from '../../api/operations.ts';
import type { InputOf } from '../http/calls.ts';
import type { Exchange } from '../http/exchange.ts';
import { expect, isFinding, skip } from '../finding.ts';
import { problemOf, nameOf } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { badBodies, bodiesWithUnknownMember, inputFor } from '../fixtures/requests.ts';
import { must, should, type Chapter, type Check } from '../requirement.ts';

/** The requirements of chapter 1. */
export const transport = {
  'FL-1.1-1': must(
    "An answer's body is JSON that matches the operation's schema, with the content type `application/json`.",
  ).check(onlyFor(walk)),
  'FL-1.1-2': must(
    'An answer has a status that the operation documents: 200, 201, 202 or 204, or the status of a problem.',
  ).check(onlyFor(walk)),
  'FL-1.1-3': must('An answer repeats the ids in the path and the `name` in the request.').check(
    onlyFor(walk),
  ),
  'FL-1.1-4': must(
    'An id has up to 128 bytes of `A-Za-z0-9._-`, and ids that differ in case or in the last byte are different.',
  ).check(async kit => {
    const start = `${kit.id()}-aZ09_.-`;
    const long = start.padEnd(127, 'x');
    const pairs = [
      [`${long}1`, `${long}2`],
      [`${start}b`, `${start}B`],
    ] as const;
    const source = kit.has('snapshots') ? await kit.createVolume() : undefined;
    for (const id of pairs.flat()) {
      await kit.createVolume({}, id);
      if (source) await kit.takeSnapshot(source.id, id);
    }
    for (const [gone, kept] of pairs) {
      await kit.done('deleteVolume', { volumeId: gone });
      await kit.done('getVolume', { volumeId: kept });
      await kit.expectNoVolume(gone);
      if (!source) continue;
      await kit.done('deleteSnapshot', { snapshotId: gone });
      await kit.done('getSnapshot', { snapshotId: kept });
      await kit.expectNoSnapshot(gone);
    }
  }),
  'FL-1.2-1': must(
    'An error is a problem document (`application/problem+json`) with a `code` from the table of errors and the HTTP status of that code.',
  ).check(onlyFor(walkErrors)),
  'FL-1.2-2': must('An unknown path answers NOT_FOUND as a problem document, never as a page of HTML.').check(
    async kit => {
      for (const path of ['/v1/no-such-thing', '/no-such-thing', `/v1/volumes/${kit.id()}/no-such-thing`])
        requireProblem(await sendRaw(kit, { method: 'GET', path }), 'NOT_FOUND', 404);
    },
  ),
  'FL-1.2-3': must(
    'A body that is not JSON, or does not match the schema, is INVALID_ARGUMENT and changes nothing.',
  ).check(async kit => {
    const volumeId = kit.id();
    for (const body of badBodies(kit.specOf(volumeId)))
      requireProblem(await putRaw(kit, volumeId, body), 'INVALID_ARGUMENT', 400);
    await kit.expectNoVolume(volumeId);
  }),
  'FL-1.2-4': must('A body with a member that is not in the schema is INVALID_ARGUMENT.').check(async kit => {
    const volumeId = kit.id();
    for (const body of bodiesWithUnknownMember(kit.specOf(volumeId)))
      requireProblem(await putRaw(kit, volumeId, JSON.stringify(body)), 'INVALID_ARGUMENT', 400);
    await kit.expectNoVolume(volumeId);
  }),
  'FL-1.2-5': must('An operation of a feature that is not offered answers UNIMPLEMENTED.').check(
    async kit => {
      const missing = vendorOperations.filter(
        ({ vendor }) => vendor && vendor !== 'required' && !kit.has(vendor),
      );
      if (missing.length === 0) throw skip('the vendor offers every feature');
      for (const { id } of missing) await kit.refused(id, inputFor(kit, id) as never, ['UNIMPLEMENTED']);
    },
  ),
  'FL-1.2-6': must('An error has a code that the operation documents.').check(onlyFor(walkErrors)),
  'FL-1.2-7': should('The `detail` of a problem names the resource and the fault, in plain words.').check(
    async kit => {
      const volumeId = kit.id();
      const { exchange } = await kit.refused('getVolume', { volumeId }, ['NOT_FOUND']);
      const { detail } = problemOf(exchange);
      expect(detail.includes(volumeId), `the detail names the volume "${volumeId}"`, exchange);
    },
  ),
  'FL-1.3-1': must(
    'Work that was answered with 202 ends: the repeated request answers 200, 201, 204 or a problem in time.',
  ).check(async kit => {
    const nodeId = await kit.createNode();
    const { id: volumeId } = await kit.createVolume();
    const twin = kit.id();
    await hurry(kit, 'createVolume', { volumeId: twin, body: kit.specOf(twin) });
    await hurry(kit, 'attachVolume', { volumeId, nodeId, body: kit.accessOf() });
    await hurry(kit, 'detachVolume', { volumeId, nodeId });
    for (const one of [volumeId, twin]) await hurry(kit, 'deleteVolume', { volumeId: one });
  }),
  'FL-1.3-2': must(
    'The answers 200 and 201 mean that the work is done: the resource then reads as `ready` or `attached`, with the size of the answer.',
  ).check(async kit => {
    const nodeId = await kit.createNode();
    const volume = await kit.createVolume();
    const read = await kit.done('getVolume', { volumeId: volume.id });
    expect(volume.state === 'ready' && read.state === 'ready', 'the created volume is ready');
    expect(read.sizeBytes === volume.sizeBytes, 'reading the volume gives the size that creating it gave');
    if (kit.has('expand')) {
      const requiredBytes = volume.sizeBytes * 2;
      await kit.done('expandVolume', { volumeId: volume.id, body: { requiredBytes } });
      const grown = await kit.done('getVolume', { volumeId: volume.id });
      expect(grown.sizeBytes >= requiredBytes, 'reading the expanded volume gives its new size');
    }
    await kit.attach(volume.id, nodeId);
    const { state } = await kit.done('getAttachment', { volumeId: volume.id, nodeId });
    expect(state === 'attached', 'reading the attachment gives state "attached"');
  }),
  'FL-1.3-3': should(
    'The answer 202 has `Retry-After` in whole seconds; its body, if there is one, is the resource in its present state.',
  ).check(async kit => {
    const volumeId = kit.id();
    const first = await kit.ask('createVolume', { volumeId, body: kit.specOf(volumeId) }, { waitS: 0 });
    if (first.status !== 202) throw skip('the vendor does not answer 202 to creating a volume');
    const seconds = first.exchange.answer?.headers['retry-after'];
    expect(/^\d+$/.test(String(seconds)), '202 has Retry-After in whole seconds', first.exchange);
  }),
  'FL-1.4-1': must(
    'A request is read completely, with a content length or in chunks, and in pieces of any size.',
  ).check(async kit => {
    const [whole, cut] = [kit.id(), kit.id()];
    const input = { volumeId: whole, body: kit.specOf(whole) };
    const { body = '', ...request } = await kit.toRawRequest('createVolume', input);
    const pieces = String(body).match(/[^]{1,20}/g) ?? [];
    const exchange = await kit.send({ ...request, body: pieces });
    expect(isSuccess(exchange), 'success with a body that comes in chunks', exchange);
    await kit.done('createVolume', { volumeId: cut, body: kit.specOf(cut) }, { network: { kind: 'drip' } });
    for (const volumeId of [whole, cut]) await kit.done('getVolume', { volumeId });
  }),
  'FL-1.4-2': must(
    'Every request on a shared connection is answered as it would be on its own, even after a refused one.',
  ).check(async kit => {
    const volumeId = kit.id();
    const isTls = kit.target.url.protocol === 'https:';
    const options = { keepAlive: true, maxSockets: 1 };
    const agent = isTls ? new SecureAgent(options) : new Agent(options);
    try {
      const good = await kit.toRawRequest('createVolume', { volumeId, body: kit.specOf(volumeId) });
      const list = await kit.toRawRequest('listVolumes', {});
      const [broken, unauthenticated] = [
        { ...good, body: '{' },
        { ...good, headers: {} },
      ];
      for (const request of [list, broken, list, good, unauthenticated, list, good]) {
        const exchange = await kit.send(request, { agent });
        const isBad = request === broken || request === unauthenticated;
        const isAnswered = isBad ? exchange.answer : isSuccess(exchange);
        expect(isAnswered, 'an answer to each request on the connection', exchange);
      }
    } finally {
      agent.destroy();
    }
  }),
  'FL-1.4-3': must(
    'Percent-encoding in the path is decoded exactly once: an escaped id is the same id, and an id escaped twice names nothing.',
  ).check(async kit => {
    const { id } = await kit.createVolume();
    const nodeId = await kit.createNode();
    await kit.attach(id, nodeId);
    const escaped = [...id].map(letter => `%${letter.charCodeAt(0).toString(16)}`).join('');
    const exchange = await sendRaw(kit, { method: 'GET', path: `/v1/volumes/${escaped}` });
    const found = (exchange.answer?.body as { readonly id?: string } | undefined)?.id;
    expect(found === id, `the escaped id names volume "${id}"`, exchange);
    const ways = encodeURIComponent(`${id}/attachments/${nodeId}`);
    for (const path of [encodeURIComponent(escaped), ways])
      for (const method of ['GET', 'DELETE']) {
        const other = await sendRaw(kit, { method, path: `/v1/volumes/${path}` });
        const { status = 0 } = other.answer ?? {};
        // Deleting a volume that does not exist answers 204.
        const isNothing = status === 404 || status === 400 || (method === 'DELETE' && status === 204);
        expect(isNothing, `"${path}" names no volume, so not status ${status}`, other);
      }
    const { attachments } = await kit.done('getVolume', { volumeId: id });
    expect(attachments.length === 1, 'the volume stays attached when an id that is escaped twice is deleted');
    // A node's id may contain a percent sign.
    const node = await kit.createNode(`${kit.id()}%41`);
    const twin = await kit.createNode(node.replace('%41', 'A'));
    const { id: volumeId } = await kit.createVolume();
    await kit.attach(volumeId, twin);
    await kit.refused('getAttachment', { volumeId, nodeId: node }, ['NOT_FOUND']);
  }),
} satisfies Chapter;

/** Sends a request that asks for an immediate answer, which may be 202, and then repeats it until it is done. */
async function hurry<Id extends OperationId>(kit: Kit, id: Id, input: InputOf<Id>): Promise<void> {
  await kit.ask(id, input, { waitS: 0 });
  await kit.done(id, input);
}

/**
 * Limits a check to breaches of its own requirement. A breach of another one skips it, because that requirement has its own
 * check. Work without end counts at once: later checks skip an operation that hangs.
 */
function onlyFor(check: (kit: Kit) => Promise<void>): Check {
  return async (kit, own) => {
    await check(kit).catch((error: unknown) => {
      const isOther = isFinding(error) && error.kind === 'fault' && error.requirement !== own;
      if (isOther && error.requirement !== 'FL-1.3-1')
        throw skip(`another requirement fails first (${error.requirement ?? 'unnamed'}): ${error.message}`);
      throw error;
    });
  };
}

/** Calls every operation that the vendor offers, and requires success. */
async function walk(kit: Kit): Promise<void> {
  const nodeId = await kit.createNode();
  const { id: volumeId } = await kit.createVolume();
  await kit.done('getCapabilities', {});
  if (kit.has('capacity'))
    await kit.done('getCapacity', { body: { capabilities: kit.specOf(volumeId).capabilities } });
  await kit.done('getVolume', { volumeId });
  await kit.done('attachVolume', { volumeId, nodeId, body: kit.accessOf() });
  await kit.done('getAttachment', { volumeId, nodeId });
  await kit.listAll('listVolumes');
  await kit.done('detachVolume', { volumeId, nodeId });
  if (kit.has('expand')) await kit.done('expandVolume', { volumeId, body: {} });
  if (kit.has('modify')) await kit.done('modifyVolume', { volumeId, body: { mutableParameters: {} } });
  if (kit.has('health')) await kit.done('getVolumeHealth', { volumeId });
  if (kit.has('snapshots')) await walkSnapshots(kit, volumeId);
  await kit.done('deleteVolume', { volumeId });
}

async function walkSnapshots(kit: Kit, volumeId: string): Promise<void> {
  const { id: snapshotId } = await kit.takeSnapshot(volumeId);
  await kit.listAll('listSnapshots');
  if (kit.has('changes')) await kit.done('listBlocks', { snapshotId });
  await kit.done('deleteSnapshot', { snapshotId });
  if (!kit.has('groups')) return;
  const groupId = kit.id();
  await kit.done('createGroup', { groupId, body: { name: nameOf(groupId), volumeIds: [volumeId] } });
  await kit.done('getGroup', { groupId });
  await kit.done('deleteGroup', { groupId });
}

/** Calls every operation that can fail, for resources that do not exist. */
async function walkErrors(kit: Kit): Promise<void> {
  for (const { id, vendor } of vendorOperations) {
    const isOffered = vendor === 'required' || (vendor && kit.has(vendor));
    const isRefused = !new Set<OperationId>(['createVolume', 'getCapabilities', 'putNode']).has(id);
    if (isOffered && isRefused) await kit.settle(id, inputFor(kit, id) as never);
  }
  await kit.settle('listVolumes', { pageToken: 'no-such-token' }, { final: ['ABORTED'] });
}

function isSuccess({ answer }: Exchange): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status < 300;
}

function requireProblem(exchange: Exchange, code: string, status: number): void {
  const { answer } = exchange;
  const type = String(answer?.headers['content-type']);
  const isIt =
    answer?.status === status &&
    problemOf(exchange).code === code &&
    type.startsWith('application/problem+json');
  expect(isIt, `${status} with a problem document whose code is ${code}`, exchange);
}

async function sendRaw(
  kit: Kit,
  request: { readonly method: string; readonly path: string },
): Promise<Exchange> {
  const authorization = await kit.credentials.header();
  return kit.send({ ...request, headers: { ...(authorization && { authorization }) } });
}

async function putRaw(kit: Kit, volumeId: string, body: string): Promise<Exchange> {
  return kit.send({ ...(await kit.toRawRequest('createVolume', { volumeId, body: {} })), body });
}
