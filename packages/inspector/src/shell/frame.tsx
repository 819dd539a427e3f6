/** The frame around every view: navigation, top bar and dialogs. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { StartPage } from '../attention/start-page.tsx';
import { isSignInNeeded } from '../live/http.ts';
import { LiveBadge } from '../live/live-badge.tsx';
import { toggleLive } from '../live/stream.ts';
import { Notice } from '../parts/copy.tsx';
import { Icon } from '../parts/icons.tsx';
import { Empty } from '../parts/states.tsx';
import { changeTimeForm, timeForm } from '../parts/times.tsx';
import { KeySheet } from './key-sheet.tsx';
import { useShortcuts } from './keys.ts';
import { OutageBanner } from './outage-banner.tsx';
import { Palette } from './palette.tsx';
import { hrefOf, navigate, route } from './router.ts';
import { SignIn } from './sign-in.tsx';
import { StoreBadge } from './store-badge.tsx';
import { changeTheme, theme } from './theme.ts';
import { currentView, VIEWS } from './views.ts';

type Overlay = 'none' | 'palette' | 'keys';

const overlay = signal<Overlay>('none');
const closeOverlay = () => {
  overlay.value = 'none';
};
const openPalette = () => {
  overlay.value = 'palette';
};
const openKeys = () => {
  overlay.value = 'keys';
};

export function Frame() {
  useShortcuts('Everywhere', [
    { keys: '?', does: 'show this list', run: openKeys },
    { keys: 'l', does: 'pause or resume live updates', run: toggleLive },
    { keys: 't', does: 'times: relative, local, UTC', run: changeTimeForm },
    { keys: 'D', does: 'theme: system, light, dark', run: changeTheme },
    ...VIEWS.map(({ key, title, name }) => ({
      keys: `g ${key}`,
      does: `go to ${title.toLowerCase()}`,
      run: () => navigate(hrefOf([name])),
    })),
  ]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || event.key.toLowerCase() !== 'k') return;
      event.preventDefault();
      openPalette();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);

  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Navigation />
      <TopBar />
      <OutageBanner />
      <main id="main" tabIndex={-1}>
        <Page />
      </main>
      <Notice />
      {overlay.value === 'palette' && <Palette onClose={closeOverlay} />}
      {overlay.value === 'keys' && <KeySheet onClose={closeOverlay} />}
      {isSignInNeeded.value && <SignIn />}
    </div>
  );
}

function Navigation() {
  const here = currentView()?.name;
  return (
    <nav class="navigation" aria-label="Views">
      <a class="brand" href="/">
        <img src="/icon.svg" alt="" width="20" height="20" />
        <span>Tidemark</span>
      </a>
      {VIEWS.map(({ name, title, icon, badge: Badge }) => (
        <a key={name} href={hrefOf([name])} aria-current={name === here ? 'page' : undefined}>
          <Icon name={icon} />
          <span>{title}</span>
          {Badge && <Badge />}
        </a>
      ))}
    </nav>
  );
}

function TopBar() {
  return (
    <header class="top-bar">
      <button type="button" class="jump" onClick={openPalette}>
        <Icon name="search" />
        <span>Jump to any id</span>
        <kbd>{/Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <StoreBadge />
      <LiveBadge />
      <button
        type="button"
        class="bare"
        onClick={changeTimeForm}
        title={`Times are ${timeForm.value}; press for another form`}
      >
        <Icon name="clock" />
        <span class="unseen">Times: {timeForm.value}</span>
      </button>
      <button type="button" class="bare" onClick={changeTheme} title={`The theme is ${theme.value}; press for another`}>
        <Icon name={theme.value} />
        <span class="unseen">Theme: {theme.value}</span>
      </button>
      <button type="button" class="bare" onClick={openKeys} title="Keyboard shortcuts (?)">
        <Icon name="key" />
        <span class="unseen">Keyboard shortcuts</span>
      </button>
    </header>
  );
}

function Page() {
  const view = currentView();
  const [name, ...ids] = route.value.segments;
  const title = name === undefined ? 'Tidemark' : `${ids[0] ?? view?.title ?? 'Not found'} · Tidemark`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  if (name === undefined) return <StartPage />;
  if (view && ids.length === 0) return <view.page />;
  // A different id is a new page that shares no state with the previous page.
  if (view?.detail) return <view.detail key={ids.join('/')} ids={ids} />;
  return (
    <Empty icon="search" title="There is no page at this address" isPage>
      <p>
        Go to <a href="/">the start page</a>, or press <kbd>?</kbd> for keyboard shortcuts.
      </p>
    </Empty>
  );
}
