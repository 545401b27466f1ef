import { useEffect, useState } from 'preact/hooks';
import { consolePath } from '../../../src/api/admin/console.ts';

/** The place in the console that the address names: its path below the console, as decoded words, and its query. */
export type Route = { readonly words: readonly string[]; readonly query: URLSearchParams };

const changed = new EventTarget();

/** Returns the route, and renders again when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const update = (): void => setRoute(readRoute());
    addEventListener('popstate', update);
    changed.addEventListener('change', update);
    return () => {
      removeEventListener('popstate', update);
      changed.removeEventListener('change', update);
    };
  }, []);
  return route;
}

function readRoute(): Route {
  const path = location.pathname.slice(consolePath.length).split('/').filter(Boolean);
  return { words: path.map(decode), query: new URLSearchParams(location.search) };
}

/** Decodes a word of the address; a malformed one stays as it is. */
function decode(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

/** Returns the address of a place in the console. */
export function hrefOf(words: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const search = new URLSearchParams(given).toString();
  return [consolePath, ...words.map(encodeURIComponent)].join('/') + (search === '' ? '' : `?${search}`);
}

/** Shows another place of the console. With `isSame`, the present entry of the history is replaced. */
export function goTo(href: string, { isSame = false } = {}): void {
  if (isSame) history.replaceState(undefined, '', href);
  else history.pushState(undefined, '', href);
  changed.dispatchEvent(new Event('change'));
}
