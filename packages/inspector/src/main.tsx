/** Starts the inspector. */
import { render } from 'preact';
import './styles/theme.css';
import './styles/frame.css';
import './styles/controls.css';
import './styles/parts.css';
import './styles/values.css';
import './styles/dialogs.css';
import './styles/runs.css';
import './styles/stores.css';
import './styles/agents.css';
import { startAttention } from './attention/attention.ts';
import { startPulse } from './live/pulse.ts';
import { startStream } from './live/stream.ts';
import { startClock } from './parts/times.tsx';
import { Frame } from './shell/frame.tsx';
import { startShortcuts } from './shell/keys.ts';
import { startRouter } from './shell/router.ts';
import { startTheme } from './shell/theme.ts';

startTheme();
startRouter();
startShortcuts();
startClock();
startStream();
startPulse();
startAttention();
render(<Frame />, document.getElementById('app')!);
