import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { serveBy, servantOf, type MachineServant } from '../fleet/fleet.ts';
import { makeInitramfs } from '../initramfs.ts';
import { kernelParameters } from '../machine.ts';
import { findKernel, packages } from '../packages.ts';

const start = fileURLToPath(new URL('../start.sh', import.meta.url));
const project = fileURLToPath(new URL('../../..', import.meta.url));
/** The number of ports; each takes one disk while the machine runs. */
const ports = 12;

/** Runs virsh and returns its output. */
export function virsh(...args: readonly string[]): string {
  return execFileSync('virsh', ['--quiet', '--connect', 'qemu:///system', ...args], { encoding: 'utf8' });
}

/** Lists the disks that the export made and that machines have now or at their next start. */
export function disksOf(names: readonly string[]): readonly string[] {
  const descriptions = names.flatMap(name => [virsh('dumpxml', name), virsh('dumpxml', '--inactive', name)]);
  const aliases = descriptions.flatMap(text => text.match(/<alias name='ua-fairlead[^']*'/g) ?? []);
  return [...new Set(aliases)];
}

/** Defines a virtual machine as the node of this name; libvirt owns its disks and its state. */
export function defineDomain(directory: string, name: string): void {
  const kernel = findKernel();
  if (!kernel) throw new Error('no kernel');
  const initrd = join(directory, 'initramfs');
  writeFileSync(initrd, makeInitramfs(kernel));
  const words = ['/bin/sh', start, project, process.execPath, servantOf, `node-${name}`].map(
    word => `"${word}"`,
  );
  const command = [...kernelParameters, '--', ...words].join(' ');
  const description = `<domain type='qemu'><name>${name}</name><memory unit='MiB'>1536</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type><kernel>${kernel.image}</kernel><initrd>${initrd}</initrd><cmdline>${command}</cmdline></os>
<features><acpi/></features><cpu mode='custom' match='exact' check='none'><model>Nehalem</model><feature policy='require' name='rdrand'/></cpu>
<on_reboot>destroy</on_reboot><on_crash>destroy</on_crash><devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
<controller type='pci' index='0' model='pcie-root'/>${Array.from({ length: ports }, (_, index) => `<controller type='pci' index='${index + 1}' model='pcie-root-port'/>`).join('')}
${share('host', '/')}${share('packages', packages)}${share('modules', dirname(kernel.modules))}<serial type='file'><source path='${directory}/${name}.console'/></serial>
<channel type='unix'><source mode='bind' path='${directory}/${name}.socket'/><target type='virtio' name='outcomes'/></channel>
<memballoon model='none'/></devices></domain>`;
  const file = join(directory, `${name}.xml`);
  writeFileSync(file, description);
  virsh('define', '--', file);
}

/** Defines a virtual machine without a system: disks can be plugged into it, and it can be saved. */
export function defineEmptyDomain(directory: string, name: string): void {
  const description = `<domain type='qemu'><name>${name}</name><memory unit='MiB'>64</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator><controller type='pci' index='0' model='pcie-root'/>
<controller type='pci' index='1' model='pcie-root-port'/><controller type='pci' index='2' model='pcie-root-port'/>
<memballoon model='none'/></devices></domain>`;
  const file = join(directory, `${name}.xml`);
  writeFileSync(file, description);
  virsh('define', '--', file);
}

/** Starts a defined machine; resolves once it is ready for orders. */
export async function startDomain(directory: string, name: string): Promise<MachineServant> {
  rmSync(`${directory}/${name}.socket`, { force: true });
  virsh('start', '--', name);
  const socket = await connected(`${directory}/${name}.socket`);
  return serveBy({
    lines: createInterface({ input: socket }),
    say: line => void socket.write(`${line}\n`),
    pause: async () => void virsh('suspend', '--', name),
    resume: async () => void virsh('resume', '--', name),
    console: () => readFileSync(`${directory}/${name}.console`, 'utf8').split('\n').slice(-60).join('\n'),
    async end() {
      socket.destroy();
      if (virsh('domstate', '--', name).trim() !== 'shut off') virsh('destroy', '--', name);
    },
  });
}

async function connected(path: string): Promise<Socket> {
  for (;;) {
    const socket = connect(path);
    const isThere = await new Promise(resolve => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    if (isThere === true) return socket.on('error', () => {});
    await sleep(100);
  }
}

function share(name: string, path: string): string {
  return `<filesystem type='mount' accessmode='passthrough' multidevs='remap'><source dir='${path}'/><target dir='${name}'/><readonly/></filesystem>`;
}
