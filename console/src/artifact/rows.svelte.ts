/** A virtual window over any number of rows. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer, type VirtualItem, type VirtualizerOptions } from '@tanstack/svelte-virtual';
import { untrack } from 'svelte';

export interface RowsOptions {
  count: number;
  /** Height of a row in pixels; an estimate if rows are measured. */
  height: number;
  overscan?: number;
}

type Options = VirtualizerOptions<HTMLElement, HTMLElement>;

// Assumed height if there is no layout (a hidden tab, a test), so that some rows are always rendered.
const ASSUMED = { width: 800, height: 640 };

export class RowWindow {
  readonly #options: () => RowsOptions;
  readonly #virtualizer: Virtualizer<HTMLElement, HTMLElement>;
  #element: HTMLElement | null = null;
  #height: number;
  #isComputing = false;
  #changes = $state(0);
  readonly #view: { items: VirtualItem[]; total: number } = $derived.by(() => this.#compute());

  constructor(options: () => RowsOptions) {
    this.#options = options;
    const first = untrack(options);
    this.#height = first.height;
    this.#virtualizer = new Virtualizer(this.#complete(first));
  }

  /** The rows to render, each with its index and offset. */
  get items(): VirtualItem[] {
    return this.#view.items;
  }

  /** Total height of all rows. */
  get total(): number {
    return this.#view.total;
  }

  /** Height of the rows before the first rendered one. */
  get before(): number {
    return this.#view.items[0]?.start ?? 0;
  }

  /** Height of the rows after the last rendered one. */
  get after(): number {
    const last = this.#view.items.at(-1);
    return last === undefined ? 0 : Math.max(0, this.#view.total - last.end);
  }

  /** For `{@attach}` on the scroll container. */
  scroller = (element: HTMLElement): (() => void) => {
    this.#element = element;
    const stop = this.#virtualizer._didMount();
    untrack(() => this.#virtualizer._willUpdate());
    return () => {
      this.#element = null;
      stop();
    };
  };

  /** For `{@attach}` on rows of variable height; they need `data-index`. */
  measured = (row: HTMLElement): void => {
    untrack(() => this.#virtualizer.measureElement(row));
  };

  reveal(index: number, align: 'auto' | 'start' | 'center' | 'end' = 'auto'): void {
    if (this.#element !== null) this.#virtualizer.scrollToIndex(index, { align });
  }

  #complete(options: RowsOptions): Options {
    return {
      count: options.count,
      estimateSize: () => options.height,
      overscan: options.overscan ?? 8,
      initialRect: ASSUMED,
      getScrollElement: () => this.#element,
      observeElementRect: (instance, tell) => observeElementRect(instance, (rect) => tell(rect.height > 0 ? rect : ASSUMED)),
      observeElementOffset,
      scrollToFn: elementScroll,
      onChange: () => {
        // The update is untracked, because measuring a row runs inside that row's effect.
        if (!this.#isComputing) untrack(() => (this.#changes += 1));
      },
    };
  }

  #compute(): { items: VirtualItem[]; total: number } {
    const options = this.#options();
    void this.#changes;
    this.#isComputing = true;
    try {
      this.#virtualizer.setOptions(this.#complete(options));
      if (options.height !== this.#height) {
        this.#height = options.height;
        this.#virtualizer.measure();
      }
      return {
        items: this.#virtualizer.getVirtualItems().filter((item) => item.index < options.count),
        total: this.#virtualizer.getTotalSize(),
      };
    } finally {
      this.#isComputing = false;
    }
  }
}
