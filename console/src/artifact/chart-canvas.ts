/** Draws a chart with Chart.js. The module loads only when a chart is displayed. */

import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  Decimation,
  Filler,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PieController,
  ArcElement,
  PointElement,
  ScatterController,
  Tooltip,
  type ChartConfiguration,
  type ChartDataset,
} from 'chart.js';
import { isOfPoints, type ChartData, type ChartKind, type Point } from '../lib/chart';
import { cut } from '../lib/text';

Chart.register(ArcElement, BarController, BarElement, CategoryScale, Decimation, Filler, Legend, LinearScale, LineController, LineElement, PieController, PointElement, ScatterController, Tooltip);

export interface ChartLook {
  /** Computed colors, because a canvas cannot use CSS variables. */
  series: string[];
  text: string;
  muted: string;
  line: string;
  surface: string;
  font: string;
  isStill: boolean;
}

export interface Drawing {
  /** Shows the part of the x axis between two fractions. */
  setRange(from: number, to: number): void;
  image(): Promise<Blob | null>;
  destroy(): void;
}

// Series differ by dash and marker as well as by color.
const DASHES: number[][] = [[], [6, 4], [2, 3], [10, 4, 2, 4], [12, 4], [4, 2, 1, 2], [1, 4], [8, 8]];
const MARKERS = ['circle', 'rect', 'triangle', 'rectRot', 'star', 'cross', 'crossRot', 'dash'] as const;
const LINEAR_FROM = 500;
/** Decimation omits points that cannot be distinguished; it does not support gaps. */
const MAX_EXACT = 2_000;

/** Converts a line to points on a linear axis. A gap is a point without a y value. */
function linear(points: readonly (Point | null)[]): Point[] {
  if (points.length > MAX_EXACT) return points.filter((point) => point !== null);
  let x = 0;
  return points.map((point) => {
    if (point !== null) ({ x } = point);
    return point ?? { x, y: Number.NaN };
  });
}

export function drawChart(canvas: HTMLCanvasElement, chart: ChartData, kind: ChartKind, look: ChartLook): Drawing {
  const color = (at: number): string => look.series[at % look.series.length] ?? look.text;
  const weak = (at: number, share: number): string => color(at).replace(/^rgb\((.*)\)$/, `rgba($1, ${share / 100})`);
  const isLinear = isOfPoints(chart) || (kind === 'line' && chart.labels.length > LINEAR_FROM);
  const isNamed = chart.labels.length > 0;
  const hasMarkers = chart.labels.length <= 60 && chart.series.every((series) => series.points.length <= 60);
  const label = (at: number): string => cut(chart.labels[Math.round(at)] ?? '', 24);

  const datasets: ChartDataset[] = chart.series.map((series, at) => {
    const common = { label: cut(series.label, 60) };
    if (kind === 'pie') {
      return { ...common, type: 'pie', data: series.values.map((value) => value ?? 0), backgroundColor: chart.labels.map((_, slice) => color(slice)), borderColor: look.surface, borderWidth: 2 };
    }
    if (kind === 'bar') {
      return { ...common, type: 'bar', data: series.values, backgroundColor: weak(at, 78), borderColor: color(at), borderWidth: 1.5, borderRadius: 4, maxBarThickness: 64 };
    }
    if (kind === 'scatter') {
      return { ...common, type: 'scatter', data: series.points.filter((point) => point !== null), backgroundColor: weak(at, 65), borderColor: color(at), pointStyle: MARKERS[at % MARKERS.length] ?? 'circle', pointRadius: series.points.length > 1_000 ? 2 : 4.5 };
    }
    return {
      ...common,
      type: 'line',
      data: isLinear ? linear(series.points) : series.values,
      ...(isLinear ? { parsing: false as const, indexAxis: 'x' as const } : {}),
      borderColor: color(at),
      backgroundColor: chart.isArea || chart.series.length === 1 ? weak(at, 14) : color(at),
      fill: chart.isArea || chart.series.length === 1,
      borderWidth: 2,
      borderDash: DASHES[at % DASHES.length] ?? [],
      pointStyle: MARKERS[at % MARKERS.length] ?? 'circle',
      pointRadius: hasMarkers ? 3.5 : 0,
      pointHoverRadius: 5,
      pointBackgroundColor: color(at),
      tension: 0,
    };
  });

  const axisTitle = (text: string) => ({ display: text !== '', text: cut(text, 80), color: look.muted });
  const configuration: ChartConfiguration = {
    type: kind,
    data: { labels: isLinear ? [] : chart.labels.map((text) => cut(text, 60)), datasets },
    options: {
      responsive: true,
      maintainAspectRatio: false,
      animation: look.isStill ? false : { duration: 250 },
      color: look.text,
      font: { family: look.font, size: 12 },
      interaction: { mode: kind === 'pie' || isOfPoints(chart) ? 'nearest' : 'index', intersect: kind === 'pie' },
      layout: { padding: { top: 4, right: 8 } },
      plugins: {
        legend: {
          display: kind === 'pie' ? chart.labels.length <= 24 : chart.series.length > 1,
          position: kind === 'pie' ? 'right' : 'bottom',
          labels: { color: look.text, usePointStyle: kind !== 'pie' && kind !== 'bar', boxWidth: kind === 'line' ? 7 : 12, boxHeight: kind === 'line' ? 7 : 12, padding: 16 },
        },
        tooltip: {
          backgroundColor: look.surface,
          borderColor: look.line,
          borderWidth: 1,
          titleColor: look.text,
          bodyColor: look.text,
          padding: 10,
          cornerRadius: 6,
          callbacks: isLinear && isNamed ? { title: (items) => label(items[0]?.parsed.x ?? 0) } : {},
        },
        decimation: { enabled: isLinear && kind === 'line', algorithm: 'min-max', threshold: MAX_EXACT },
      },
      scales:
        kind === 'pie'
          ? {}
          : {
              x: {
                type: isLinear ? 'linear' : 'category',
                stacked: chart.isStacked,
                title: axisTitle(chart.xTitle),
                grid: { display: kind === 'scatter', color: look.line },
                border: { color: look.line },
                ticks: {
                  color: look.muted,
                  maxRotation: 40,
                  autoSkipPadding: 6,
                  ...(isLinear && isNamed ? { precision: 0, callback: (value: number | string) => label(Number(value)) } : {}),
                },
              },
              y: {
                type: 'linear',
                stacked: chart.isStacked,
                beginAtZero: kind === 'bar',
                title: axisTitle(chart.yTitle),
                grid: { color: look.line },
                border: { display: false },
                ticks: { color: look.muted, maxTicksLimit: 7 },
              },
            },
    },
  };
  const drawn = new Chart(canvas, configuration);

  return {
    setRange(from, to) {
      const { scales } = drawn.options;
      if (scales?.x === undefined) return;
      if (isOfPoints(chart)) {
        let low = Number.POSITIVE_INFINITY;
        let high = Number.NEGATIVE_INFINITY;
        for (const series of chart.series) {
          for (const point of series.points) {
            if (point === null) continue;
            low = Math.min(low, point.x);
            high = Math.max(high, point.x);
          }
        }
        scales.x.min = from <= 0 ? undefined : low + (high - low) * from;
        scales.x.max = to >= 1 ? undefined : low + (high - low) * to;
      } else {
        const last = Math.max(0, chart.labels.length - 1);
        scales.x.min = Math.round(last * from);
        scales.x.max = Math.round(last * to);
      }
      drawn.update('none');
    },
    image() {
      // Fills the page's background color, because a transparent image may be unreadable elsewhere.
      const copy = document.createElement('canvas');
      copy.width = canvas.width;
      copy.height = canvas.height;
      const context = copy.getContext('2d');
      if (context === null) return Promise.resolve(null);
      context.fillStyle = look.surface;
      context.fillRect(0, 0, copy.width, copy.height);
      context.drawImage(canvas, 0, 0);
      return new Promise((done) => copy.toBlob(done, 'image/png'));
    },
    destroy() {
      drawn.destroy();
    },
  };
}
