/** Draws ratios as horizontal bars. */

export interface Bar {
  label: string;
  ratio: number;
}

export interface Chart {
  title: string;
  /** Lines below the title, such as date and machine. */
  facts: readonly string[];
  bars: readonly Bar[];
  /** For ratios of very different sizes: the bars begin at 1. */
  isLogarithmic?: boolean;
}

const WIDTH = 900;
const LABEL_WIDTH = 470;
const MARGIN = 60;
const ROW = 22;
const BAR = 14;

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Returns the position of a ratio. */
function scaleOf({ bars, isLogarithmic }: Chart): (ratio: number) => number {
  const ratios = bars.map(({ ratio }) => ratio);
  const [low, high] = isLogarithmic
    ? [Math.log(Math.min(0.25, ...ratios)), Math.log(Math.max(4, ...ratios))]
    : [0, Math.max(1.25, ...ratios)];
  const fraction = (ratio: number) => ((isLogarithmic ? Math.log(ratio) : ratio) - low) / (high - low);
  return (ratio) => LABEL_WIDTH + fraction(ratio) * (WIDTH - LABEL_WIDTH - MARGIN);
}

/** Returns the chart as SVG. */
export function drawBars(chart: Chart): string {
  const { title, facts, bars, isLogarithmic = false } = chart;
  const xOf = scaleOf(chart);
  const top = 34 + facts.length * 18;
  const height = top + bars.length * ROW + 34;
  const rows = bars.map(({ label, ratio }, index) => {
    const y = top + index * ROW;
    const [from, to] = [isLogarithmic ? xOf(1) : LABEL_WIDTH, xOf(ratio)];
    const isAhead = ratio >= 1;
    return [
      `<text x="${LABEL_WIDTH - 8}" y="${y + 11}" text-anchor="end">${escapeXml(label)}</text>`,
      `<rect class="${isAhead ? 'ahead' : 'behind'}" x="${Math.min(from, to).toFixed(1)}" y="${y}" width="${Math.max(1, Math.abs(to - from)).toFixed(1)}" height="${BAR}" rx="2"/>`,
      `<text x="${(Math.max(from, to) + 6).toFixed(1)}" y="${y + 11}">${ratio.toFixed(2)}</text>`,
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}">
<title>${escapeXml(title)}</title>
<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; font-size: 14px; }
  .ahead { fill: #2f6feb; }
  .behind { fill: #bc4c00; }
  .background { fill: #ffffff; }
  line { stroke: #8c959f; stroke-dasharray: 3 3; }
</style>
<rect class="background" width="${WIDTH}" height="${height}"/>
<text class="title" x="12" y="22">${escapeXml(title)}</text>
${facts.map((fact, index) => `<text x="12" y="${40 + index * 18}">${escapeXml(fact)}</text>`).join('\n')}
<line x1="${xOf(1).toFixed(1)}" x2="${xOf(1).toFixed(1)}" y1="${top - 6}" y2="${height - 28}"/>
${rows.join('\n')}
<text x="${xOf(1).toFixed(1)}" y="${height - 12}" text-anchor="middle">1 = the same rate</text>
</svg>
`;
}
