import { mkdirSync, readdirSync, rmdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { nodeName, type IscsiTarget } from './scsi-target.ts';
import { undoLast } from './undo.ts';

/**
 * The names and passwords of a node at a target. The target proves its own identity with the ones that end in `Mutual`.
 */
export type ChapAccount = {
  readonly userid: string;
  readonly password: string;
  readonly useridMutual?: string;
  readonly passwordMutual?: string;
};

/** Makes a target accept only this node, with CHAP, at its unit 0. */
export function demandChap(t: TestContext, target: IscsiTarget, account: ChapAccount): void {
  const acl = acceptOnly(t, target, nodeName);
  writeFileSync(`${target.home}/attrib/authentication`, '1');
  const { userid, password, useridMutual = 'NULL', passwordMutual = 'NULL' } = account;
  const values = { userid, password, userid_mutual: useridMutual, password_mutual: passwordMutual };
  for (const [name, value] of Object.entries(values)) writeFileSync(`${acl}/auth/${name}`, value);
}

/** Makes a target accept only the node that logs in with this name, at its unit 0. Returns the name's directory. */
export function acceptOnly(t: TestContext, { home }: IscsiTarget, name: string): string {
  writeFileSync(`${home}/attrib/generate_node_acls`, '0');
  const acl = `${home}/acls/${name}`;
  const unit = `${acl}/lun_0`;
  mkdirSync(acl);
  mkdirSync(unit);
  symlinkSync(`${home}/lun/lun_0`, `${unit}/unit`);
  undoLast(t, () => {
    for (const entry of readdirSync(unit, { withFileTypes: true }))
      if (entry.isSymbolicLink()) unlinkSync(`${unit}/${entry.name}`);
    rmdirSync(unit);
    rmdirSync(acl);
  });
  return acl;
}
