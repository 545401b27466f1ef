import { readdirSync, readFileSync } from 'node:fs';

/** Finds the device of the port that the host gave this name; runs in a virtual machine. */
export function findPort(name: string): string {
  const ports = '/sys/class/virtio-ports';
  const found = readdirSync(ports).find(
    entry => readFileSync(`${ports}/${entry}/name`, 'utf8').trim() === name,
  );
  if (found === undefined) throw new Error(`this machine has no port "${name}"`);
  return `/dev/${found}`;
}
