import { preconditionProblem } from '../api/problem.ts';
import type { NodeRecord } from './records.ts';

/** Makes a node's id at the driver. FAILED_PRECONDITION if the node's report lacks a part of it. */
export type NodeIdRule = (node: NodeRecord) => string;

const part = /\{(name|provider)(?::([1-9]))?\}/g;

/**
 * Parses a rule for the ids of nodes at the driver. `{name}` is the name of the node in its cluster, `{provider}` the last
 * part of its provider's id (`spec.providerID` in Kubernetes), and `{provider:N}` the Nth part. Without these all nodes
 * have the same id, as a driver with a single node needs.
 */
export function parseNodeIdRule(rule: string): NodeIdRule {
  if (rule === '' || /[{}]/.test(rule.replaceAll(part, '')))
    throw new Error(`"${rule}" is no rule for ids of nodes; use {name}, {provider} or {provider:N}`);
  return ({ id, spec }) =>
    rule.replaceAll(part, (token: string, kind: 'name' | 'provider', index?: string) => {
      const found = kind === 'name' ? spec.name : partOf(spec.providerId, index);
      if (found) return found;
      throw preconditionProblem(
        `the report of node "${id}" has nothing for "${token}" of the bridge's --node-id "${rule}": its cluster must report ${kind === 'name' ? 'its name' : "its provider's id"}`,
      );
    });
}

function partOf(providerId = '', index?: string): string | undefined {
  const parts = providerId.replace(/^[a-z0-9-]*:\/+/i, '').split('/');
  return index === undefined ? parts.at(-1) : parts[Number(index) - 1];
}
