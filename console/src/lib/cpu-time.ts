/** Measures the CPU time of a test in milliseconds, because the load of the machine must not matter. */
export function cpuTime(run: () => void): number {
  const start = process.cpuUsage();
  run();
  return process.cpuUsage(start).user / 1_000;
}
