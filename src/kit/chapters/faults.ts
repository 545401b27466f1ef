import { connect, type Socket } from 'node:net';
import { pause } from '../../lib/concurrency.ts';
import { expect } from '../finding.ts';
import {
  accessOf,
  expectNoVolume,
  expectSame,
  makeNode,
  makeVolume,
  smallSize,
  specOf,
} from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { mutations, offeredMutations, repeat, type MutationId } from '../fixtures/mutations.ts';
import type { Mutation } from '../fixtures/mutations.ts';
import type { FaultKind } from '../http/proxy.ts';
import { must, type Chapter, type Check } from '../requirement.ts';

const idleConnections = 24;

/** The requirements of chapter 8, sections 1 and 2. */
export const faults = {
  'FL-8.1-1': must(
    'If the answer to creating a volume is lost, the repeated request answers with that volume, and there is no second one.',
  ).check(checkLostAnswers('createVolume')),
  'FL-8.1-2': must('If the answer to deleting a volume is lost, the repeated request answers 204.').check(
    checkLostAnswers('deleteVolume'),
  ),
  'FL-8.1-3': must(
    'If the answer to attaching is lost, the repeated request answers with that attachment, and there is no second one.',
  ).check(checkLostAnswers('attachVolume')),
  'FL-8.1-4': must('If the answer to detaching is lost, the repeated request answers 204.').check(
    checkLostAnswers('detachVolume'),
  ),
  'FL-8.1-5': must(
    'If the answer to expanding a volume is lost, the repeated request answers with the new size.',
    'expand',
  ).check(checkLostAnswers('expandVolume')),
  'FL-8.1-6': must(
    'If the answer to modifying a volume is lost, the repeated request answers with the new parameters.',
    'modify',
  ).check(checkLostAnswers('modifyVolume')),
  'FL-8.1-7': must(
    'If the answer to creating or deleting a snapshot is lost, the repeated request answers as the first did.',
    'snapshots',
  ).check(checkLostAnswers('createSnapshot', 'deleteSnapshot')),
  'FL-8.1-8': must(
    'If the answer to creating or deleting a group is lost, the repeated request answers as the first did.',
    'groups',
  ).check(checkLostAnswers('createGroup', 'deleteGroup')),
  'FL-8.2-1': must('A request that is cut off within its body changes nothing.').check(async kit => {
    const volumeId = kit.id();
    await kit.lose('createVolume', { volumeId, body: specOf(kit, volumeId) }, { kind: 'cut-request' });
    await expectNoVolume(kit, volumeId);
    const nodeId = await makeNode(kit);
    const volume = await makeVolume(kit);
    const attaching = { volumeId: volume.id, nodeId, body: accessOf(kit) };
    await kit.lose('attachVolume', attaching, { kind: 'cut-request' });
    await kit.refused('getAttachment', { volumeId: volume.id, nodeId }, ['NOT_FOUND']);
    if (!kit.has('expand')) return;
    const body = { requiredBytes: smallSize(kit, 2) };
    await kit.lose('expandVolume', { volumeId: volume.id, body }, { kind: 'cut-request' });
    await expectSame(kit, volume);
  }),
  'FL-8.2-2': must(
    'If the caller hangs up right after its request, the work is done, or the repeated request does it.',
  ).check(kit => each(kit, 'hang-up')),
  'FL-8.2-3': must('A request that the network delivers twice at once has the effect of one request.').check(
    async kit => {
      for (const id of chooseMutations(kit)) {
        const mutation = await mutations[id](kit);
        const { operation, input } = mutation;
        const first = await kit.ask(operation, input as never, { network: { kind: 'duplicate' } });
        const isKnown = first.code === undefined || first.code === 'ABORTED' || first.code === 'UNAVAILABLE';
        expect(isKnown, `success or ABORTED, not ${first.code}`, first.exchange);
        await repeat(kit, mutation);
      }
    },
  ),
  'FL-8.2-4': must(
    'Requests on one resource that overtake each other leave the state that one of their possible orders leads to.',
  ).check(async kit => {
    await overtakeAttach(kit);
    await overtakeCreate(kit);
    if (kit.has('expand')) await overtakeExpand(kit);
  }),
  'FL-8.2-5': must('Connections that send nothing, or send slowly, do not delay other requests.').check(
    async kit => {
      const { hostname, port, protocol } = kit.target.url;
      const address = {
        host: hostname.replace(/^\[|\]$/g, ''),
        port: Number(port || (protocol === 'https:' ? 443 : 80)),
      };
      const sockets: Socket[] = [];
      try {
        for (let opened = 0; opened < idleConnections; opened++) {
          const socket = connect(address).on('error', () => {});
          sockets.push(socket);
          if (opened % 2 === 0)
            socket.write('PUT /v1/volumes/verify HTTP/1.1\r\nHost: vendor\r\nContent-Length: 10\r\n\r\n{');
        }
        await repeat(kit, await mutations.createVolume(kit));
      } finally {
        for (const socket of sockets) socket.destroy();
      }
    },
  ),
} satisfies Chapter;

function checkLostAnswers(...ids: readonly MutationId[]): Check {
  return async kit => {
    for (const id of ids) await lose(kit, await mutations[id](kit), 'cut-answer');
  };
}

async function lose(kit: Kit, mutation: Mutation, kind: 'cut-answer' | 'hang-up'): Promise<void> {
  const { operation, input } = mutation;
  for (let times = kit.isThorough ? 3 : 1 + kit.random.below(2); times > 0; times--)
    await kit.lose(operation, input as never, { kind });
  await repeat(kit, mutation);
}

async function each(kit: Kit, kind: FaultKind & 'hang-up'): Promise<void> {
  for (const id of chooseMutations(kit)) await lose(kit, await mutations[id](kit), kind);
}

/** Chooses all offered mutations in a thorough run, else some of them. */
function chooseMutations(kit: Kit): readonly MutationId[] {
  const all = offeredMutations(kit);
  return kit.isThorough ? all : kit.random.some(all, 6);
}

/** Delays the request of one node until another node has the volume. */
async function overtakeAttach(kit: Kit): Promise<void> {
  const [late, quick] = [await makeNode(kit), await makeNode(kit)];
  const { id: volumeId } = await makeVolume(kit);
  const body = accessOf(kit);
  const { code } = await overtake(
    until => kit.ask('attachVolume', { volumeId, nodeId: late, body }, { network: { kind: 'hold', until } }),
    () => kit.done('attachVolume', { volumeId, nodeId: quick, body }),
  );
  expect(code === 'FAILED_PRECONDITION', `FAILED_PRECONDITION for the delayed request, not ${code}`);
  await kit.done('getAttachment', { volumeId, nodeId: quick });
  await kit.refused('getAttachment', { volumeId, nodeId: late }, ['NOT_FOUND']);
}

async function overtakeCreate(kit: Kit): Promise<void> {
  const volumeId = kit.id();
  const late = specOf(kit, volumeId, { requiredBytes: smallSize(kit, 4) });
  const limitBytes = smallSize(kit, 2);
  const quick = specOf(kit, volumeId, { requiredBytes: smallSize(kit), limitBytes });
  const { code } = await overtake(
    until => kit.ask('createVolume', { volumeId, body: late }, { network: { kind: 'hold', until } }),
    () => kit.done('createVolume', { volumeId, body: quick }),
  );
  expect(code === 'ALREADY_EXISTS', `ALREADY_EXISTS for the delayed request, not ${code}`);
  const { sizeBytes } = await kit.done('getVolume', { volumeId });
  expect(sizeBytes <= limitBytes, `the volume stays at ${limitBytes} bytes or less, not ${sizeBytes}`);
}

async function overtakeExpand(kit: Kit): Promise<void> {
  const { id: volumeId } = await makeVolume(kit);
  const maxBytes = smallSize(kit, 4);
  await overtake(
    until =>
      kit.ask(
        'expandVolume',
        { volumeId, body: { requiredBytes: smallSize(kit, 2) } },
        { network: { kind: 'hold', until } },
      ),
    () => kit.done('expandVolume', { volumeId, body: { requiredBytes: maxBytes } }),
  );
  const { sizeBytes } = await kit.done('getVolume', { volumeId });
  expect(
    sizeBytes >= maxBytes,
    `the volume keeps its ${maxBytes} bytes, and does not shrink to ${sizeBytes}`,
  );
}

/** Sends the first request but holds it back until the second is done, and returns the answer to the first. */
async function overtake<T>(
  first: (until: Promise<void>) => Promise<T>,
  second: () => Promise<unknown>,
): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const late = first(promise);
  late.catch(() => {});
  try {
    await second();
  } finally {
    resolve();
    await pause(0);
  }
  return late;
}
