import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../../host.ts';
import { readConnections, type Connection } from './connections.ts';
import type { Export } from './handshake.ts';
import { ownerOf, reconnectDevice, resizeDevice, type Place } from './kernel.ts';
import type { Socket } from './libc.ts';
import { isRefusal } from './netlink.ts';
import { sever } from './sever.ts';

/** A device, and a new connection to the export that it leads to. */
export type Growth = {
  readonly socket: Socket;
  readonly found: Export;
  /** Of the server. */
  readonly port: number;
  readonly place: Place;
};

/** What is written over one connection is read, and made durable, over every other (NBD_FLAG_CAN_MULTI_CONN). */
const sharedFlag = 1 << 8;
/** EPERM, ENOENT, EACCES, EOPNOTSUPP: the agent may not, or the kernel has no CONFIG_INET_DIAG_DESTROY. */
const unable = [1, 2, 13, 95];

const restMs = 20_000;
const restPauseMs = 1;
const settleMs = 1_000;
const settleBusyMs = 10_000;
/** Longer than the kernel keeps a request before it is sent again. */
const resendMs = 35_000;
const takeTries = 50;
const takePauseMs = 100;

/**
 * Has a device that is in use take the size of its export, where that is larger; returns why it cannot be done, when
 * nothing was changed. A server tells a size once per connection and serves nothing beyond it, so that the device
 * becomes larger only when the kernel has a new connection and no other: the old one is ended, I/O waits, and the new
 * one is taken in its place. Cut off at any point it leaves a device that works or waits for a connection.
 *
 * The connection is ended only in a moment without reads and writes. What is sent in that very moment is sent again by the
 * kernel when it is 30 seconds old, as after any loss. A server that did it late all the same, for the old connection,
 * would undo what came after: so that it then has ten seconds to end it before anything can be sent over the new one.
 */
export async function grow({ socket, found, port, place }: Growth, host: Host): Promise<string | undefined> {
  const { index } = place;
  if (found.sizeBytes <= (await readSizeBytes(index, host))) return undefined;
  if ((found.flags & sharedFlag) === 0)
    return 'its server does not promise that a connection sees what was written over others';
  if (!(await isCounted(index, host))) return 'its requests are not counted (queue/iostats is off)';
  const findOwn = async (): Promise<readonly Connection[]> =>
    (await readConnections(host)).filter(({ owner, peer }) => owner === ownerOf(index) && peer.port === port);
  const own = await findOwn();
  // A device that has lost its connection takes the new one at once.
  if (own.length === 0 && !reconnectDevice(socket, place)) return 'its connection cannot be told from others';
  if (own.length > 0) {
    if (!(await awaitRest(index, host, restMs)))
      throw new Error('its connection is not ended while requests are under way, and they always are');
    if (!severAll(own) || (await findOwn()).length > 0)
      return 'the agent may not end its connection, or the kernel cannot';
    await sleep(settleMs);
    const isBusy = (await countRequests(index, host)) > 0;
    if (isBusy) await sleep(settleBusyMs - settleMs);
    await handOver(socket, place);
    // Later kernels hold a lock of theirs until what is under way has ended when a size is set.
    if (isBusy) await awaitRest(index, host, resendMs);
  }
  resizeDevice(found.sizeBytes, place);
  return undefined;
}

/** What the device has now. */
export async function readSizeBytes(index: number, host: Host): Promise<number> {
  return Number((await host.readText(`${placeOf(index)}/size`)) ?? 0) * 512;
}

function severAll(own: readonly Connection[]): boolean {
  try {
    for (const connection of own) sever(connection);
    return true;
  } catch (error) {
    if (isRefusal(error, unable)) return false;
    throw error;
  }
}

/** The kernel finds out a little later that a connection has ended. */
async function handOver(socket: Socket, place: Place): Promise<void> {
  for (let tries = 1; !reconnectDevice(socket, place); tries++) {
    if (tries === takeTries) throw new Error('the kernel did not take the new connection');
    await sleep(takePauseMs);
  }
}

/** Waits for a moment without requests, for so long; false when there was none. */
async function awaitRest(index: number, host: Host, timeoutMs: number): Promise<boolean> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(restPauseMs)) {
    if ((await countRequests(index, host)) === 0) return true;
  }
  return false;
}

/** Reads and writes that were sent to the server and have no answer yet; flushes are not among them. */
async function countRequests(index: number, host: Host): Promise<number> {
  const text = (await host.readText(`${placeOf(index)}/inflight`)) ?? '';
  const [reads = 0, writes = 0] = text.trim().split(/\s+/).map(Number);
  return reads + writes;
}

/** Where an administrator switched the counting off, the kernel shows zeros. */
async function isCounted(index: number, host: Host): Promise<boolean> {
  const [flag, counts] = await Promise.all([
    host.readText(`${placeOf(index)}/queue/iostats`),
    host.readText(`${placeOf(index)}/inflight`),
  ]);
  return flag?.trim() === '1' && /^\s*\d+\s+\d+\s*$/.test(counts ?? '');
}

function placeOf(index: number): string {
  return `/sys/block/nbd${index}`;
}
