import { nodeIdOf } from '../../src/api/node-identity.ts';
import type { Log } from '../../src/lib/log.ts';
import type { NodeConfig } from '../config.ts';
import type { Host } from '../host.ts';

type Settings = Pick<NodeConfig, 'node-id' | 'node-epoch' | 'state-dir'>;

/** Most bytes in a node's id (CSI spec, "NodeGetInfo"). */
const maxBytes = 256;
/** The start of 2025: a clock that is before this agent was written has never been set. */
const earliestEpoch = 1_735_689_600;

/**
 * The id by which this node is known. With `--node-epoch state-dir` it ends with the second in which an agent was first
 * started on this machine, which the state directory keeps; a machine that takes this one's place has a later one.
 * Throws one line when that cannot be read as it was written: another epoch would cut this machine off its volumes.
 */
export async function findNodeId(
  config: Settings,
  { host, log }: { readonly host: Host; readonly log: Log },
): Promise<string> {
  const { 'node-id': name, 'node-epoch': kept, 'state-dir': directory } = config;
  if (kept === 'none') return name;
  if (/@\d+$/.test(name))
    throw new Error(`node-id "${name}" ends as if it had an epoch, which --node-epoch state-dir adds`);
  const path = `${directory}/epoch`;
  const known = await readEpoch(path, host);
  const epoch = known ?? currentEpoch();
  const nodeId = nodeIdOf(name, epoch);
  const size = Buffer.byteLength(nodeId);
  if (size > maxBytes)
    throw new Error(`node id "${nodeId}" has ${size} bytes, more than the ${maxBytes} allowed`);
  if (known !== undefined) return nodeId;
  await host.writeDurably(path, `${epoch}\n`);
  log.info('this machine is new under its name', { nodeId });
  return nodeId;
}

function currentEpoch(): number {
  const nowMs = Date.now();
  if (nowMs / 1_000 < earliestEpoch)
    throw new Error(`the clock has not been set: it says ${new Date(nowMs).toISOString()}`);
  return Math.floor(nowMs / 1_000);
}

/** The epoch that was written, or undefined where there never was one. */
async function readEpoch(path: string, host: Host): Promise<number | undefined> {
  const kind = await host.kindOf(path);
  if (kind === 'nothing') return undefined;
  const text = kind === 'file' || kind === 'filled' ? await host.readText(path) : undefined;
  const [, digits] = /^([1-9]\d{0,14})\n$/.exec(text ?? '') ?? [];
  if (digits === undefined)
    throw new Error(`"${path}" is damaged: it does not hold one line with the epoch of this machine`);
  return Number(digits);
}
