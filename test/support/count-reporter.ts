/** Ends a test run with one plain line, `N passed, N failed`, for scripts that read the output. */
import type { Reporter, TestModule } from 'vitest/node';

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const state = test.result().state;
        if (state === 'passed' || state === 'failed' || state === 'skipped') count[state] += 1;
      }
      if (module.errors().length > 0) count.failed += 1;
    }
    const skipped = count.skipped === 0 ? '' : `, ${count.skipped} skipped`;
    process.on('exit', () => process.stdout.write(`${count.passed} passed, ${count.failed} failed${skipped}\n`));
  }
}
