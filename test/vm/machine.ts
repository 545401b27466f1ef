import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { makeInitramfs } from './initramfs.ts';
import { findKernel, packages, pathOf, type Kernel } from './packages.ts';

/** A virtual machine that runs one command and ends. */
export interface Machine {
  /** The command's lines on the port "outcomes", until the machine has ended. */
  readonly lines: AsyncIterable<string>;
  /** Sends a line to the command on the port "outcomes". */
  say(line: string): void;
  /** Pauses its processors. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Returns the last lines of the machine's console. */
  console(): string;
  /** Ends it at once if it still runs, waits until it is gone, and removes its files. */
  end(): Promise<void>;
}

const start = fileURLToPath(new URL('start.sh', import.meta.url));
const project = fileURLToPath(new URL('../..', import.meta.url));
/** The compile cache of Node.js for all machines, because compiling takes long on an emulated processor. */
const compiled = join(project, 'node_modules/.cache/fairlead-guests');
const consoleLines = 60;

/**
 * A machine's command, the maximum time without a sign of life, additional kernel parameters, and the beginning of a
 * command that runs in the machine's network (its address is 10.0.2.15, the gateway's 10.0.2.2).
 */
export type MachinePlan = {
  readonly command: readonly string[];
  readonly silentMs: number;
  readonly parameters?: readonly string[];
  readonly network?: readonly string[];
  /** TCP ports of the machine that are open in the network at 10.0.2.15, which has to be an address of the network. */
  readonly ports?: readonly number[];
  /** The cables to other machines; each has its own socket and the other end's. */
  readonly cables?: readonly Cable[];
  /** The path of a file that is a disk of the machine. */
  readonly disk?: string;
  /** The machine's kernel, instead of the usual one. */
  readonly kernel?: Kernel | undefined;
  /** The directory of its programs, and of the usual kernel; they are laid over this machine's root. */
  readonly root?: string | undefined;
};

/**
 * One end of a cable between two machines, and the other end, by the paths of their sockets; they can be made in any
 * order.
 */
export type Cable = { readonly own: string; readonly other: string };

/**
 * Starts a machine with a Debian kernel on emulated processors. It sees this machine's files but can change only the
 * compile cache, and has no network except its own loopback, its cables, and the given network. It ends with its
 * command, with this process, or when neither its console nor the port "outcomes" has shown a sign of life for the
 * allowed time, which does not depend on how busy this machine is.
 */
export function startMachine({ command, silentMs, root = packages, ...plan }: MachinePlan): Machine {
  const { kernel = findKernel(root) } = plan;
  if (!kernel) throw new Error('no kernel');
  // packages.sh may remove directories that were not used for an hour, when its list has changed.
  for (const used of new Set([packages, root])) utimesSync(used, new Date(), new Date());
  mkdirSync(compiled, { recursive: true });
  const directory = mkdtempSync(join(tmpdir(), 'fairlead-vm-'));
  const log = join(directory, 'console');
  const initrd = join(directory, 'initramfs');
  writeFileSync(initrd, makeInitramfs(kernel));
  const { network = [] } = plan;
  const monitor = join(directory, 'monitor');
  const args = qemuArgs({ ...plan, kernel, initrd, log, monitor, command, root });
  const [program = '', ...prefix] = [...network, 'setpriv', '--pdeathsig', 'KILL', '--'];
  const child = spawn(program, [...prefix, pathOf('usr/bin/qemu-system-x86_64'), ...args], {
    // Standard input stays open, because a port with a closed end accepts nothing.
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, LD_LIBRARY_PATH: join(packages, 'usr/lib/x86_64-linux-gnu') },
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(child, 'close');
  let heardMs = Date.now();
  child.stdout.on('data', () => (heardMs = Date.now()));
  const watch = setInterval(() => {
    if (Date.now() - Math.max(heardMs, writtenAt(log)) < silentMs) return;
    said += `the virtual machine was ended after ${silentMs} ms of silence\n`;
    child.kill('SIGKILL');
  }, 1_000);
  return {
    lines: createInterface({ input: child.stdout }),
    say: line => void child.stdin.write(`${line}\n`),
    pause: () => order(monitor, 'stop'),
    resume: () => order(monitor, 'cont'),
    console: () => said + tailOf(log),
    async end() {
      clearInterval(watch);
      child.kill('SIGKILL');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function writtenAt(log: string): number {
  return statSync(log, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function tailOf(log: string): string {
  if (!existsSync(log)) return '';
  return readFileSync(log, 'utf8').split('\n').slice(-consoleLines).join('\n');
}

/** Sends an order to the machine's monitor (QEMU's QMP). */
async function order(monitor: string, execute: 'stop' | 'cont'): Promise<void> {
  const socket = connect(monitor);
  try {
    let answers = 0;
    for (const command of ['qmp_capabilities', execute]) socket.write(JSON.stringify({ execute: command }));
    for await (const line of createInterface({ input: socket }))
      if ('return' in (JSON.parse(line) as object) && ++answers === 2) return;
    throw new Error('the machine has no monitor any more');
  } finally {
    socket.destroy();
  }
}

type Boot = Omit<MachinePlan, 'silentMs'> & {
  readonly kernel: Kernel;
  readonly root: string;
  readonly initrd: string;
  readonly log: string;
  readonly monitor: string;
};

/** The kernel parameters of every machine. */
export const kernelParameters: readonly string[] = [
  'console=ttyS0',
  'panic=-1',
  'oops=panic',
  // On a busy machine an emulated processor can look as if it had no timer.
  'no_timer_check',
  // An emulated processor translates machine code again for each address: without randomization, programs stay at one.
  'norandmaps',
  'mitigations=off',
  'init_on_alloc=0',
];

function qemuArgs({ kernel, initrd, log, monitor, command, root, ...plan }: Boot): readonly string[] {
  const { parameters = [], network = [], ports = [], cables = [], disk } = plan;
  const forwards = ports.map(port => `,hostfwd=tcp:10.0.2.15:${port}-:${port}`).join('');
  const words = ['/bin/sh', start, project, ...command].map(word => `"${word}"`);
  return [
    ['-L', pathOf('usr/share/qemu'), '-L', pathOf('usr/share/seabios')],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    network.length > 0
      ? ['-netdev', `user,id=net${forwards}`, '-device', 'virtio-net-pci,netdev=net,romfile=']
      : ['-nic', 'none'],
    ['-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', 'Nehalem,+rdrand', '-smp', '1', '-m', '2G'],
    ['-kernel', kernel.image, '-initrd', initrd],
    ['-append', [...kernelParameters, ...parameters, '--', ...words].join(' ')],
    ['-chardev', `file,id=console,path=${log}`, '-serial', 'chardev:console'],
    ['-chardev', 'stdio,id=outcomes,signal=off', '-device', 'virtio-serial-pci'],
    ['-device', 'virtserialport,chardev=outcomes,name=outcomes'],
    share('host', '/'),
    share('packages', root),
    share('modules', dirname(kernel.modules)),
    share('compiled', compiled, 'off'),
    ['-qmp', `unix:${monitor},server=on,wait=off`],
    cables.flatMap(plug),
    disk === undefined
      ? []
      : ['-drive', `file=${disk},format=raw,if=none,id=disk`, '-device', 'virtio-blk-pci,drive=disk'],
  ].flat();
}

/** Plugs in a cable as an interface: the first one is eth0. */
function plug({ own, other }: Cable, index: number): readonly string[] {
  const ends = `local.type=unix,local.path=${own},remote.type=unix,remote.path=${other}`;
  const address = createHash('sha256').update(own).digest('hex').slice(0, 10).replaceAll(/../g, ':$&');
  return [
    '-netdev',
    `dgram,id=cable${index},${ends}`,
    '-device',
    `virtio-net-pci,netdev=cable${index},mac=52${address},romfile=`,
  ];
}

function share(name: string, path: string, readonly: 'on' | 'off' = 'on'): readonly string[] {
  const options = `security_model=none,readonly=${readonly},multidevs=remap`;
  return [
    ['-fsdev', `local,id=${name},path=${path},${options}`],
    ['-device', `virtio-9p-pci,fsdev=${name},mount_tag=${name}`],
  ].flat();
}
