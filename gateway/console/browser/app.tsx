import { useEffect, useState } from 'preact/hooks';
import type { LoginFault } from '../../../src/api/admin/console.ts';
import { asProblem, Problem } from '../../../src/api/problem.ts';
import { kinds, type KindName } from '../../../src/cli/kinds/index.ts';
import { findOperator, logIn, logOut, type Operator } from './gateway.ts';
import { sessionEnd } from './live.ts';
import { List } from './pages/list.tsx';
import { One } from './pages/one.tsx';
import { Overview } from './pages/overview.tsx';
import { Login } from './parts/login.tsx';
import { menu, Shell } from './parts/shell.tsx';
import { hasPage } from './parts/table.tsx';
import { useRoute, type Route } from './route.ts';

/** The session of this browser: not known yet, an operator, or nobody with the reason. */
type Session = { readonly operator?: Operator; readonly fault?: string; readonly isKnown: boolean };

/** The whole console: the page that the address names, or the login. */
export function App() {
  const [session, setSession] = useState<Session>({ isKnown: false });
  const route = useRoute();
  const fail = (error: unknown): void => setSession({ isKnown: true, fault: asProblem(error).detail });
  const refresh = (): void => {
    openSession().then(operator => setSession({ isKnown: true, ...(operator && { operator }) }), fail);
  };
  useEffect(() => {
    refresh();
    sessionEnd.addEventListener('end', refresh);
    // A login link that is pasted into this tab loads no new page.
    const onHash = (): void => void (loginHash.test(location.hash) && refresh());
    addEventListener('hashchange', onHash);
    return () => {
      sessionEnd.removeEventListener('end', refresh);
      removeEventListener('hashchange', onHash);
    };
  }, []);
  if (!session.isKnown) return null;
  const { operator, fault } = session;
  if (!operator) return <Login key={fault} fault={fault} onLogin={refresh} />;
  const { title, page } = pageOf(route, operator);
  return (
    <Shell
      operator={operator}
      current={route.words[0] ?? ''}
      title={title}
      onLogout={() => void logOut().then(refresh, fail)}
    >
      {page}
    </Shell>
  );
}

/** The sentences for a login at the provider that opened no session. */
const loginFaults: Readonly<Record<LoginFault, string>> = {
  refused:
    'The provider did not log you in, or your account is not one of an operator. The log of the gateway has the reason.',
  unavailable: 'The provider or the store does not answer. The log of the gateway has the reason.',
};

/** The end of an address that logs in, or that says why a login failed. */
const loginHash = /^#(code|login)=(.+)$/;

/** Uses the code of the address, if there is one, and finds the operator. The code leaves the address at once. */
async function openSession(): Promise<Operator | undefined> {
  const [, name, value = ''] = loginHash.exec(location.hash) ?? [];
  if (name !== undefined) history.replaceState(undefined, '', location.pathname + location.search);
  if (name === 'code') await logIn({ code: value });
  if (name === 'login' && value in loginFaults)
    throw new Problem('UNAUTHENTICATED', loginFaults[value as LoginFault]);
  return findOperator();
}

function pageOf(route: Route, operator: Operator) {
  const [word = '', id] = route.words;
  if (word === '') return { title: menu[''], page: <Overview /> };
  if (!Object.hasOwn(kinds, word))
    return { title: 'Not found', page: <p class="empty">There is no such page.</p> };
  const name = word as KindName;
  if (id !== undefined && hasPage(name))
    return {
      title: `${capitalize(kinds[name].one)} ${id}`,
      page: <One key={`${name}/${id}`} name={name} id={id} operator={operator} />,
    };
  return { title: menu[name], page: <List key={name} name={name} route={route} /> };
}

function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
