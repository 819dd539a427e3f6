/** The icons of the inspector: line drawings on a 16-pixel grid, in the colour of the surrounding text. */

const PATHS = {
  runs: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  attention: 'M8 2.2 14.3 13H1.7zM8 6.4v3.2M8 11.4v.1',
  kv: 'M2.5 3.5h11v9h-11zM2.5 7.5h11M6.5 3.5v9',
  jobs: 'M2.5 5.5h11v8h-11zM5.5 5.5v-2h5v2M2.5 9h11',
  sessions: 'M2.5 3h11v8h-6l-3 2.7V11h-2z',
  pauses: 'M5.5 3.5v9M10.5 3.5v9',
  artifacts: 'M4 1.8h5.2L12.5 5v9.2H4zM9 1.8V5h3.5',
  file: 'M8 10.5v-8M5 5.3l3-3 3 3M2.5 10.5v3h11v-3',
  download: 'M8 2.5v8M5 7.7l3 3 3-3M2.5 10.5v3h11v-3',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4l3.3 3.3',
  key: 'M2 4.5h12v7.5H2zM4.5 7v.1M7 7v.1M9.5 7v.1M12 7v.1M5 9.7h6',
  light:
    'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1',
  dark: 'M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8',
  system: 'M2 3h12v8H2zM5.5 13.5h5M8 11v2.5',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  link: 'M6.7 9.3 9.3 6.7M7.2 4.8l1.6-1.6a2.8 2.8 0 0 1 4 4l-1.6 1.6M8.8 11.2l-1.6 1.6a2.8 2.8 0 0 1-4-4l1.6-1.6',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  check: 'M2.8 8.6 6.2 12l7-7.6',
  cross: 'M4 4l8 8M12 4l-8 8',
  play: 'M5 3v10l8-5z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  clock: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.8V8l2.2 1.6',
  dot: 'M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5',
  ring: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3',
  skip: 'M3.5 3.5v9l6-4.5zM12 3.5v9',
  hole: 'M3 3h3M10 3h3M3 13h3M10 13h3M3 3v3M13 3v3M3 10v3M13 10v3',
  right: 'M6 3.5 10.5 8 6 12.5',
  down: 'M3.5 6 8 10.5 12.5 6',
  up: 'M3.5 10 8 5.5 12.5 10',
  back: 'M9.5 3.5 5 8l4.5 4.5',
  reload: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  shield: 'M8 1.8 13 4v4c0 3-2 5-5 6.2C5 13 3 11 3 8V4zM5.8 8l1.7 1.7 3-3.2',
  more: 'M3.5 8v.1M8 8v.1M12.5 8v.1',
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon next to a text label. */
export function Icon({ name, class: className }: { name: IconName; class?: string }) {
  return (
    <svg
      class={className ? `icon ${className}` : 'icon'}
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
