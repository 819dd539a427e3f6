/** The command line as a library, for the `tidemark` package's command, the documentation and `npm start`. */
export { renderCommandsPage } from './commands-page.ts';
export { type DemoCounts, type DemoOptions, fillDemo } from './demo/fill.ts';
export { keepMoving } from './demo/live.ts';
export type { Io, Sink, Source } from './io.ts';
export { run } from './main.ts';
export { processIo } from './process-io.ts';
