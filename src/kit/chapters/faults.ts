import { connect, type Socket } from 'node:net';
import { pause } from '../../lib/concurrency.ts';
import { expect } from '../finding.ts';
import type { Answer, InputOf } from '../http/calls.ts';
import { addressOf } from '../http/exchange.ts';
import type { Kit } from '../fixtures/kit.ts';
import { offeredMutations, prepare, type MutationId } from '../fixtures/mutations.ts';
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
    await kit.lose('createVolume', { volumeId, body: kit.specOf(volumeId) }, { kind: 'cut-request' });
    await kit.expectNoVolume(volumeId);
    const nodeId = await kit.createNode();
    const volume = await kit.createVolume();
    const attaching = { volumeId: volume.id, nodeId, body: kit.accessOf() };
    await kit.lose('attachVolume', attaching, { kind: 'cut-request' });
    await kit.refused('getAttachment', { volumeId: volume.id, nodeId }, ['NOT_FOUND']);
    if (!kit.has('expand')) return;
    const body = { requiredBytes: kit.smallSize(2) };
    await kit.lose('expandVolume', { volumeId: volume.id, body }, { kind: 'cut-request' });
    await kit.expectSame(volume);
  }),
  'FL-8.2-2': must(
    'If the caller hangs up right after its request, the work is done, or the repeated request does it.',
  ).check(kit => loseAnswers(kit, offeredMutations(kit), 'hang-up')),
  'FL-8.2-3': must('A request that the network delivers twice at once has the effect of one request.').check(
    async kit => {
      for (const id of offeredMutations(kit)) {
        const { input, repeat } = await prepare(kit, id);
        const first = await kit.ask(id, input as never, { network: { kind: 'duplicate' } });
        const isKnown = first.code === undefined || first.code === 'ABORTED' || first.code === 'UNAVAILABLE';
        expect(isKnown, `success or ABORTED, not ${first.code}`, first.exchange);
        await repeat();
      }
    },
  ),
  'FL-8.2-4': must(
    'Requests on one resource that overtake each other leave the state that one of their possible orders leads to.',
  ).check(async kit => {
    if (kit.isExclusive()) await overtakeAttach(kit);
    await overtakeCreate(kit);
    if (kit.has('expand')) await overtakeExpand(kit);
  }),
  'FL-8.2-5': must('Connections that send nothing, or send slowly, do not delay other requests.').check(
    async kit => {
      const address = addressOf(kit.target.url);
      const sockets: Socket[] = [];
      try {
        for (let opened = 0; opened < idleConnections; opened++) {
          const socket = connect(address).on('error', () => {});
          sockets.push(socket);
          if (opened % 2 === 0)
            socket.write('PUT /v1/volumes/verify HTTP/1.1\r\nHost: vendor\r\nContent-Length: 10\r\n\r\n{');
        }
        await (await prepare(kit, 'createVolume')).repeat();
      } finally {
        for (const socket of sockets) socket.destroy();
      }
    },
  ),
} satisfies Chapter;

function checkLostAnswers(...ids: readonly MutationId[]): Check {
  return kit => loseAnswers(kit, ids, 'cut-answer');
}

/** Loses the answers to each mutation once or several times, and then repeats it. */
async function loseAnswers(kit: Kit, ids: readonly MutationId[], kind: 'cut-answer' | 'hang-up') {
  for (const id of ids) {
    const { input, repeat } = await prepare(kit, id);
    for (let times = kit.isThorough ? 3 : 1 + kit.random.below(2); times > 0; times--)
      await kit.lose(id, input as never, { kind });
    await repeat();
  }
}

/** Delays the request of one node until another node has the volume. */
async function overtakeAttach(kit: Kit): Promise<void> {
  const [late, quick] = [await kit.createNode(), await kit.createNode()];
  const { id: volumeId } = await kit.createVolume();
  const body = kit.accessOf();
  const { code } = await overtake(kit, 'attachVolume', {
    late: { volumeId, nodeId: late, body },
    quick: { volumeId, nodeId: quick, body },
  });
  expect(code === 'FAILED_PRECONDITION', `FAILED_PRECONDITION for the delayed request, not ${code}`);
  await kit.done('getAttachment', { volumeId, nodeId: quick });
  await kit.refused('getAttachment', { volumeId, nodeId: late }, ['NOT_FOUND']);
}

async function overtakeCreate(kit: Kit): Promise<void> {
  const volumeId = kit.id();
  const limitBytes = kit.smallSize(2);
  const { code } = await overtake(kit, 'createVolume', {
    late: { volumeId, body: kit.specOf(volumeId, { requiredBytes: kit.smallSize(4) }) },
    quick: { volumeId, body: kit.specOf(volumeId, { requiredBytes: kit.smallSize(), limitBytes }) },
  });
  expect(code === 'ALREADY_EXISTS', `ALREADY_EXISTS for the delayed request, not ${code}`);
  const { sizeBytes } = await kit.done('getVolume', { volumeId });
  expect(sizeBytes <= limitBytes, `the volume stays at ${limitBytes} bytes or less, not ${sizeBytes}`);
}

async function overtakeExpand(kit: Kit): Promise<void> {
  const { id: volumeId } = await kit.createVolume();
  const maxBytes = kit.smallSize(4);
  await overtake(kit, 'expandVolume', {
    late: { volumeId, body: { requiredBytes: kit.smallSize(2) } },
    quick: { volumeId, body: { requiredBytes: maxBytes } },
  });
  const { sizeBytes } = await kit.done('getVolume', { volumeId });
  const expected = `the volume keeps its ${maxBytes} bytes, and does not shrink to ${sizeBytes}`;
  expect(sizeBytes >= maxBytes, expected);
}

/** Sends the late request but holds it back until the quick one is done, and returns the answer to the late one. */
async function overtake<Id extends MutationId>(
  kit: Kit,
  id: Id,
  { late, quick }: { readonly late: InputOf<Id>; readonly quick: InputOf<Id> },
): Promise<Answer<Id>> {
  const { promise: until, resolve } = Promise.withResolvers<void>();
  const answer = kit.ask(id, late, { network: { kind: 'hold', until: () => until } });
  answer.catch(() => {});
  try {
    await kit.done(id, quick);
  } finally {
    resolve();
    await pause(0);
  }
  return answer;
}
