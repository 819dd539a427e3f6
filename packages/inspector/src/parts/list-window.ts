/**
 * A list of rows of equal height that renders only the rows in view. Browsers limit the height of an element to about
 * sixteen million pixels, so the scroll distance of longer lists is scaled down.
 */
import { computed, type ReadonlySignal, signal } from '@preact/signals';

const MAX_PIXELS = 15_000_000;
/** Extra rows above and below the view, so that scrolling shows no gaps. */
const MARGIN_ROWS = 8;

export class ListWindow {
  readonly rowHeight: number;
  readonly count: ReadonlySignal<number>;
  readonly #scrollTop = signal(0);
  readonly #viewHeight = signal(0);
  #element: HTMLElement | null = null;
  /** Repeats the last scroll to a row. `#soughtTop` is the resulting position. */
  #seek: (() => void) | null = null;
  #soughtTop = 0;

  constructor(rowHeight: number, count: ReadonlySignal<number>) {
    this.rowHeight = rowHeight;
    this.count = count;
  }

  /** The height of the scrolled element. */
  readonly height = computed(() => Math.min(this.count.value * this.rowHeight, MAX_PIXELS));

  /** The number of list pixels per pixel of scrolling. */
  readonly #pace = computed(() => {
    const travel = this.height.value - this.#viewHeight.value;
    return travel > 0 ? (this.count.value * this.rowHeight - this.#viewHeight.value) / travel : 1;
  });

  /** The top of the view, in pixels of the whole list. */
  readonly #top = computed(() => this.#scrollTop.value * this.#pace.value);

  /** The first row in view, and the row after the last. */
  readonly inView = computed(() => {
    const first = Math.floor(this.#top.value / this.rowHeight);
    const last = Math.ceil((this.#top.value + this.#viewHeight.value) / this.rowHeight);
    return { first: Math.min(first, this.count.value), last: Math.min(last, this.count.value) };
  });

  /** The rows to render, and the offset of the first in the scrolled element. */
  readonly rendered = computed(() => {
    const { first: firstInView, last: lastInView } = this.inView.value;
    const first = Math.max(0, firstInView - MARGIN_ROWS);
    const last = Math.min(this.count.value, lastInView + MARGIN_ROWS);
    return { first, last, offset: this.#scrollTop.value + first * this.rowHeight - this.#top.value };
  });

  attach(element: HTMLElement): () => void {
    this.#element = element;
    const measure = () => {
      // The headings stay above the rows, so their height is subtracted.
      const headings = element.querySelector<HTMLElement>('.head')?.offsetHeight ?? 0;
      this.#viewHeight.value = element.clientHeight - headings;
      this.#scrollTop.value = element.scrollTop;
    };
    const onScroll = () => {
      if (Math.abs(element.scrollTop - this.#soughtTop) > 1) this.#seek = null;
      measure();
    };
    // Keeps the row of the last `scrollTo` in view when the size changes, until the reader scrolls.
    const resizing = new ResizeObserver(() => {
      measure();
      this.#seek?.();
    });
    resizing.observe(element);
    element.addEventListener('scroll', onScroll, { passive: true });
    measure();
    return () => {
      resizing.disconnect();
      element.removeEventListener('scroll', onScroll);
      this.#element = null;
    };
  }

  get isAtEnd(): boolean {
    return this.inView.peek().last >= this.count.peek();
  }

  /** Scrolls a row into view, either to the middle or only as far as necessary. */
  scrollTo(index: number, align: 'middle' | 'nearest' = 'nearest'): void {
    const element = this.#element;
    if (!element) return;
    this.#seek = () => this.scrollTo(index, align);
    const height = this.#viewHeight.peek();
    const top = this.#top.peek();
    const rowTop = index * this.rowHeight;
    const isShown = rowTop >= top && rowTop + this.rowHeight <= top + height;
    this.#soughtTop = element.scrollTop;
    if (align === 'nearest' && isShown) return;
    const target = align === 'middle' ? rowTop - height / 2 : rowTop < top ? rowTop : rowTop + this.rowHeight - height;
    this.#scroll(element, target);
  }

  scrollToEnd(): void {
    if (!this.#element) return;
    this.#seek = () => this.scrollToEnd();
    this.#scroll(this.#element, this.count.peek() * this.rowHeight);
  }

  #scroll(element: HTMLElement, target: number): void {
    // The height is set first, because a list that has just grown is scrolled before it is rendered.
    const spacer = element.querySelector<HTMLElement>('.spacer');
    if (spacer) spacer.style.height = `${this.height.peek()}px`;
    element.scrollTop = Math.max(0, target) / this.#pace.peek();
    this.#soughtTop = element.scrollTop;
    this.#scrollTop.value = element.scrollTop;
  }
}
