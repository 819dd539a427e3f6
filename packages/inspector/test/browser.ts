/** Starts a real browser and a real server for the inspector's tests, and records page errors. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCheckpointer } from '@tidemark/runtime';
import { createServer } from '@tidemark/server';
import { sqliteStore } from '@tidemark/sqlite';
import { type Browser, type BrowserContextOptions, chromium as driver, type Page } from 'playwright-core';
import { buildInspector } from '../../../scripts/inspector.ts';
import { chromium } from '../../../scripts/servers/chromium.ts';
import { obtainProgram } from '../../../scripts/servers/install.ts';
import { DataClock, type DataStore } from './data.ts';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];
/** The directory of the screenshots in the documentation. */
const PICTURES = join(import.meta.dirname, '../../../docs/inspector');
const NOTE_VIOLATIONS = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
  noteViolation([violatedDirective, blockedURI, sample].join(' ')))`;
const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 780 };

export interface Rig extends DataStore {
  url: string;
  browser: Browser;
  /** The directory of the built page. */
  built: string;
  /** Writes a signed checkpoint of the store to the file that the server shows. */
  writeCheckpoint(): Promise<void>;
  /** Stops the server and starts another at the same address. */
  restartServer(meanwhile: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

/** Builds the page, and starts a server on an empty store and a browser. */
export async function startRig(): Promise<Rig> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-inspector-'));
  const built = join(directory, 'inspector');
  const clock = new DataClock();
  const [executablePath] = await Promise.all([obtainProgram(chromium), buildInspector(built)]);
  const store = await sqliteStore({ path: join(directory, 'state.db'), clock: clock.now });
  const signer = generateKeyPairSync('ed25519');
  const file = join(directory, 'checkpoints.jsonl');
  const checkpoints = { file, publicKey: signer.publicKey };
  const serve = (port: number) => createServer({ store, inspector: built, port, checkpoints });
  let server = serve(0);
  const [url, browser] = await Promise.all([server.listen(), driver.launch({ executablePath, args: FLAGS })]);
  return {
    ...{ url, browser, built, store, clock },
    async writeCheckpoint() {
      await createCheckpointer({ store, file, key: signer.privateKey }).checkpoint();
    },
    async restartServer(meanwhile) {
      await server.close();
      try {
        await meanwhile();
      } finally {
        server = serve(Number(new URL(url).port));
        await server.listen();
      }
    },
    async stop() {
      await browser.close();
      await server.close();
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A page that records its faults. */
export interface WatchedPage {
  page: Page;
  /** Console errors, uncaught exceptions, requests to other hosts, dialogs, and violations of the security policy. */
  faults: string[];
  /** Opens a path of the inspector and waits until an element is shown. */
  visit(path: string, shown?: string): Promise<void>;
  close(): Promise<void>;
}

export async function openPage({ browser, url }: Rig, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: DESKTOP,
    baseURL: url,
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const faults: string[] = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`threw: ${error.message}`));
  page.on('request', (request) => request.url().startsWith(url) || faults.push(`asked ${request.url()}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.exposeFunction('noteViolation', (text: string) => faults.push(`stopped by the policy: ${text}`));
  await page.addInitScript(NOTE_VIOLATIONS);
  return {
    page,
    faults,
    async visit(path, shown = 'main h1, main h2') {
      await page.goto(path);
      await page.locator(shown).first().waitFor();
    },
    close: () => context.close(),
  };
}

/** Takes a screenshot; with `TIDEMARK_TEST_PICTURES` it is saved for the documentation. */
export async function picture(page: Page, name: string, options: { keepsPointer?: boolean } = {}): Promise<void> {
  if (!options.keepsPointer) await page.mouse.move(0, 0);
  const path = process.env.TIDEMARK_TEST_PICTURES ? { path: join(PICTURES, `${name}.png`) } : {};
  await page.screenshot(path);
}
