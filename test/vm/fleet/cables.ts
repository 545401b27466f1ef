import { execFileSync } from 'node:child_process';

/** The address of the box on every cable. */
export const address = '10.77.0.1';

/** Sets up one end of the cable between the box and a peer. */
export function cableTo(name: string, peer: number, end: 'box' | 'peer'): void {
  const [own, other] = end === 'box' ? [1, 2] : [2, 1];
  execFileSync('ip', ['address', 'add', `10.77.${peer}.${own}/24`, 'dev', name]);
  execFileSync('ip', ['link', 'set', name, 'up']);
  if (end === 'peer') execFileSync('ip', ['route', 'add', address, 'via', `10.77.${peer}.${other}`]);
}
