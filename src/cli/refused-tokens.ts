import type { ClusterState, Status } from '../api/admin.ts';

/** The refused tokens with the name of one cluster. Every machine on the network can send such tokens. */
export type RefusedTokens = Status['refusedTokens'][number];

/** A controller, which calls every minute, is accepted again within this time, in milliseconds, if its keys are right. */
const maxSilenceMs = 300_000;

/** Describes refused tokens and the reason for the last refusal. */
export function describeRefused({ cluster, count, lastAt, detail }: RefusedTokens): string {
  const [tokens, verb] = count === 1 ? ['1 token', 'was'] : [`${count} tokens`, 'were'];
  const whose = cluster === undefined ? 'of unknown callers' : 'with its name';
  return `${tokens} ${whose} ${verb} refused in the last 5 minutes, the last at ${lastAt}: ${detail}`;
}

/** Advises an operator whose cluster's tokens are refused. */
export function adviseRefused(cluster: string): string {
  return `give its controller a key that gateway.yaml lists (a new one: fairlead enroll ${cluster}), and synchronize the clocks (NTP)`;
}

/** Returns true when a token of the cluster's controller was accepted near the last refusal. */
export function isAccepted({ lastAt }: RefusedTokens, cluster: ClusterState | undefined): boolean {
  if (cluster?.retiredSince !== undefined) return false;
  // Both times are of the gateway's clock.
  return Date.parse(cluster?.lastSeenAt ?? '') > Date.parse(lastAt) - maxSilenceMs;
}
