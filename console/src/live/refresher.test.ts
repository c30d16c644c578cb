import { expect, test } from 'vitest';
import { Refresher, type RefreshEnvironment } from './refresher';

/** A manual clock and a page that can be hidden. */
class Scene implements RefreshEnvironment {
  time = 0;
  hidden = false;
  timers: { run: () => void; at: number }[] = [];
  listeners = new Set<() => void>();

  now = (): number => this.time;
  later = (run: () => void, milliseconds: number): unknown => {
    const timer = { run, at: this.time + milliseconds };
    this.timers.push(timer);
    return timer;
  };
  cancel = (timer: unknown): void => {
    this.timers = this.timers.filter((one) => one !== timer);
  };
  isHidden = (): boolean => this.hidden;
  onVisibility = (run: () => void): (() => void) => {
    this.listeners.add(run);
    return () => this.listeners.delete(run);
  };

  hide(hidden: boolean): void {
    this.hidden = hidden;
    for (const run of this.listeners) run();
  }

  async pass(milliseconds: number): Promise<void> {
    this.time += milliseconds;
    for (const timer of this.timers.filter((one) => one.at <= this.time)) {
      this.cancel(timer);
      timer.run();
    }
    await settled();
  }
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
};

test('a burst of events is one load now and one after the pause', async () => {
  const scene = new Scene();
  let loads = 0;
  const refresher = new Refresher(async () => void (loads += 1), scene);
  for (let event = 0; event < 1_000; event += 1) refresher.request();
  await settled();
  expect(loads).toBe(1);
  await scene.pass(999);
  expect(loads).toBe(1);
  await scene.pass(1);
  expect(loads).toBe(2);
  await scene.pass(60_000);
  expect(loads).toBe(2);
  refresher.request();
  await settled();
  expect(loads).toBe(3);
});

test('events of a busy minute are loads of a part of it', async () => {
  const scene = new Scene();
  let loads = 0;
  const refresher = new Refresher(async () => {
    loads += 1;
    scene.time += 500;
  }, scene);
  while (scene.time < 60_000) {
    refresher.request();
    await scene.pass(50);
  }
  // Half a second of loading is followed by two seconds of pause.
  expect(loads).toBeGreaterThan(20);
  expect(loads).toBeLessThan(26);
});

test('what is requested while a load is under way is not lost', async () => {
  const scene = new Scene();
  const done: (() => void)[] = [];
  const refresher = new Refresher(() => new Promise<void>((resolve) => done.push(resolve)), scene);
  refresher.request();
  refresher.request();
  expect(done).toHaveLength(1);
  await scene.pass(5_000);
  expect(done).toHaveLength(1);
  done[0]?.();
  await settled();
  await scene.pass(20_000);
  expect(done).toHaveLength(2);
});

test('a hidden page loads nothing, and once when it is shown', async () => {
  const scene = new Scene();
  let loads = 0;
  const refresher = new Refresher(async () => void (loads += 1), scene);
  scene.hide(true);
  for (let event = 0; event < 100; event += 1) {
    refresher.request();
    await scene.pass(1_000);
  }
  expect(loads).toBe(0);
  scene.hide(false);
  await settled();
  expect(loads).toBe(1);
});

test('a load that fails does not end it, and stopping does', async () => {
  const scene = new Scene();
  let loads = 0;
  const refresher = new Refresher(() => {
    loads += 1;
    return Promise.reject(new Error('away'));
  }, scene);
  refresher.request();
  await settled();
  refresher.request();
  await scene.pass(1_000);
  expect(loads).toBe(2);
  refresher.request();
  refresher.stop();
  await scene.pass(60_000);
  expect(loads).toBe(2);
  expect(scene.listeners.size).toBe(0);
});
