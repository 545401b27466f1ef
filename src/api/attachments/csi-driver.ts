import { absolutePath } from '../../lib/parsers.ts';

/** Parses a driver's name and the socket of its node plugin (`NAME=SOCKET`). */
export function csiDriver(value: string): { readonly name: string; readonly socketPath: string } {
  const [, name = '', path = ''] = /^([a-z0-9.-]{1,63})=(.*)$/i.exec(value) ?? [];
  if (name === '') throw new Error(`"${value}" is no driver; use NAME=SOCKET`);
  return { name, socketPath: absolutePath(path.replace(/^unix:\/\//, '')) };
}
