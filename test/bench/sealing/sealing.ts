import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Bench, Figure } from '../figure.ts';
import type { Measurement } from './attachment.ts';

/** The agent's flags: little memory, and no optimizing compiler. */
const agentFlags = ['--optimize-for-size', '--no-opt', '--no-maglev'];

/** Measures the cost of sealing and signing attachments. */
export const sealingBench: Bench = {
  name: 'sealing',
  doc: 'an attachment with CHAP secrets that a gateway seals and signs, and a node proves and opens, beside the calls of jose that does it',
  run: async () => {
    const [gateway, node] = [measure([]), measure(agentFlags)];
    return [
      ...toFigures('sealed and signed by a gateway', gateway.given),
      ...toFigures('proved and opened by a node, under its V8 flags', node.taken),
    ];
  },
};

const floorName = 'the same calls of jose and WebCrypto';

function toFigures(name: string, { value, floor, cpu, cpuFloor }: Measurement): readonly Figure[] {
  return [
    { name, value, unit: 'ms', floor: { name: floorName, value: floor }, target: '≤ 2 ms together' },
    { name, value: cpu, unit: 'ms CPU', floor: { name: floorName, value: cpuFloor } },
  ];
}

function measure(flags: readonly string[]): { readonly given: Measurement; readonly taken: Measurement } {
  const script = fileURLToPath(new URL('attachment.ts', import.meta.url));
  return JSON.parse(execFileSync(process.execPath, [...flags, script], { encoding: 'utf8' }));
}
