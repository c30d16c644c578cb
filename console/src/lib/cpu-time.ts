/** For tests: how long something takes of this process's own time, in milliseconds. What else the machine does must not matter. */
export function cpuTime(run: () => void): number {
  const start = process.cpuUsage();
  run();
  return process.cpuUsage(start).user / 1_000;
}
