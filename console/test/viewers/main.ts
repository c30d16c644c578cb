/** A page with viewers only, for measurements and manual checks: `?show=NAME&theme=dark`. */

import { flushSync, mount } from 'svelte';
import '../../src/style/tokens.css';
import '../../src/style/base.css';
import Artifact from '../../src/artifact/Artifact.svelte';
import JsonTree from '../../src/artifact/JsonTree.svelte';
import Envelope from '../../src/envelope/Envelope.svelte';
import { artifacts, bigJson, bigTable, bigTimeline, envelopes } from './samples';

declare global {
  interface Window {
    violations: string[];
    mountedAt: number;
    firstPaint: number;
  }
}

window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});

const query = new URLSearchParams(location.search);
document.documentElement.dataset.theme = query.get('theme') ?? 'light';
const target = document.getElementById('app') as HTMLElement;
target.className = 'stage';
const sheet = new CSSStyleSheet();
sheet.replaceSync('.stage{max-width:90rem;margin:0 auto;padding:1.5rem}');
document.adoptedStyleSheets = [sheet];

const show = query.get('show') ?? 'results';
const reply = { id: 'r1', index: 1842 };
let start = 0;
if (show === 'big-table') {
  const content = bigTable();
  start = performance.now();
  mount(Artifact, { target, props: { artifact: { artifact_type: 'table', title: 'Fifty thousand', content }, position: 0, full: true } });
} else if (show === 'big-json') {
  const text = bigJson();
  start = performance.now();
  mount(JsonTree, { target, props: { text, label: 'A hundred thousand nodes', isTall: true } });
} else if (show === 'big-timeline') {
  const content = bigTimeline();
  start = performance.now();
  mount(Artifact, { target, props: { artifact: { artifact_type: 'timeline', title: 'Ten thousand events', content }, position: 0, full: true } });
} else if (show in artifacts) {
  start = performance.now();
  mount(Artifact, { target, props: { artifact: artifacts[show], position: 0, reply, full: query.has('full') } });
} else {
  start = performance.now();
  mount(Envelope, { target, props: { envelope: envelopes[show] ?? envelopes.results, reply } });
}
flushSync();
window.mountedAt = performance.now() - start;
// Waits two frames: the first callback runs before the paint, the second after it.
requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    window.firstPaint = performance.now() - start;
    target.dataset.ready = 'yes';
  };
  channel.port2.postMessage(null);
});
