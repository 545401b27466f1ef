import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { moments } from '../../suites/exports/killed.ts';
import type { Servant } from '../fleet/fleet.ts';
import { startServant } from '../fleet/process.ts';

const box = fileURLToPath(new URL('box.ts', import.meta.url));

/** Creates a gateway in a directory of its own over a pool; it can be killed at any of its libvirt commands. */
export function createMortalGateway(directory: string, pool: string) {
  mkdirSync(directory, { recursive: true });
  const [counter, plan, ended] = ['counter', 'plan', 'ended'].map(name => `${directory}/${name}`) as [
    string,
    string,
    string,
  ];
  const virsh = execFileSync('which', ['virsh'], { encoding: 'utf8' }).trim();
  writeFileSync(
    `${directory}/virsh`,
    `#!/bin/sh
[ -f ${plan} ] || exec ${virsh} "$@"
step=$(($(cat ${counter}) + 1))
echo $step >${counter}
read -r fatal when <${plan}
[ $step = "$fatal" ] || exec ${virsh} "$@"
rm ${plan}
kill -KILL $PPID
[ $when = before ] || ${virsh} "$@" >${directory}/said 2>&1
touch ${ended}
`,
  );
  chmodSync(`${directory}/virsh`, 0o755);
  const env = { PATH: `${directory}:${process.env['PATH']}` };
  return {
    start: (): Promise<Servant> => startServant([], [box, `${directory}/gateway`, pool], env),
    /** Makes the gateway die at one of its next commands. */
    arm(step: number, moment: (typeof moments)[number]): void {
      rmSync(ended, { force: true });
      writeFileSync(counter, '0\n');
      writeFileSync(plan, `${step} ${moment}\n`);
    },
    /** Returns true once the gateway was killed and its command is over; false if it ran fewer commands. */
    async isKilled(): Promise<boolean> {
      if (existsSync(plan)) {
        rmSync(plan);
        return false;
      }
      while (!existsSync(ended)) await sleep(20);
      return true;
    },
  };
}
