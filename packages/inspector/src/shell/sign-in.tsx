/** Asks for a key if the server requires one. The key is kept in this tab. */
import { useState } from 'preact/hooks';
import { isSignInNeeded, signIn } from '../live/http.ts';
import { Dialog } from '../parts/dialog.tsx';

export function SignIn() {
  const [key, setKey] = useState('');
  const close = () => {
    isSignInNeeded.value = false;
  };
  return (
    <Dialog title="This server asks for a key" onClose={close}>
      <form
        class="sign-in"
        onSubmit={(event) => {
          event.preventDefault();
          signIn(key.trim());
          location.reload();
        }}
      >
        <label>
          Key or token
          <input
            type="password"
            autoComplete="off"
            required
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <p class="quiet">It is kept until this tab is closed, and sent to this server only.</p>
        <button type="submit">Sign in</button>
      </form>
    </Dialog>
  );
}
