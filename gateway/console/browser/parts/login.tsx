import { useEffect, useState } from 'preact/hooks';
import { asProblem } from '../../../../src/api/problem.ts';
import { consolePath } from '../../../../src/api/admin/console.ts';
import { canUseProvider, logIn } from '../gateway.ts';

type LoginProps = { readonly fault?: string | undefined; readonly onLogin: () => void };

/** The page for operators without a session. */
export function Login({ fault: first, onLogin }: LoginProps) {
  const [fault, setFault] = useState(first);
  const [token, setToken] = useState('');
  const [hasProvider, setHasProvider] = useState(false);
  useEffect(() => void canUseProvider().then(setHasProvider, () => undefined), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    logIn({ token: token.trim() }).then(onLogin, (error: unknown) => setFault(asProblem(error).detail));
  };
  return (
    <main class="login">
      <h1>Fairlead</h1>
      {hasProvider && (
        <p>
          <a class="button" href={`${consolePath}/oidc`}>
            Log in with your account
          </a>
        </p>
      )}
      <p>
        This command prints a link that logs you in: <code>fairlead console</code>
      </p>
      <form onSubmit={submit}>
        <label for="token">Or paste an operator’s token</label>
        <textarea
          id="token"
          rows={4}
          required
          spellcheck={false}
          autocomplete="off"
          value={token}
          onInput={event => setToken(event.currentTarget.value)}
          aria-describedby={fault === undefined ? undefined : 'fault'}
        />
        <button type="submit">Log in</button>
      </form>
      {fault !== undefined && (
        <p id="fault" class="notice" role="alert">
          {fault}
        </p>
      )}
    </main>
  );
}
