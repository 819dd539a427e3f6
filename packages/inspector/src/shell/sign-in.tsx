/** Asks for a key where the server wants one. The key stays in this tab. */
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
        <button type="submit">Go on</button>
      </form>
    </Dialog>
  );
}
