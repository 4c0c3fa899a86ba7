// The workers that share the computation of a chart.

const MOST_WORKERS = 4;

class Pool {
  constructor(live, hear, fail) {
    Object.assign(this, { live, hear, fail, workers: [] });
  }

  // Give each worker every n-th of some items: `request` makes a request of its own ones.
  share(items, request) {
    if (!this.workers.length) {
      const number = Math.max(1, Math.min(MOST_WORKERS, (navigator.hardwareConcurrency ?? 2) - 1));
      this.workers = Array.from({ length: number }, () => this.spawn());
    }
    const { length } = this.workers;
    this.workers.forEach((worker, i) => worker.postMessage(request(items.filter((_, k) => k % length === i))));
  }

  // Hold the computation, or go on with it.
  hold(on) {
    this.held = on;
    for (const worker of this.workers) worker.postMessage({ kind: "hold", on });
  }

  // A worker whose failures are told.
  spawn() {
    const told = (answer) => (answer.kind === "failed" ? this.fail(answer.message) : this.hear(answer));
    const worker = this.live.spawn(told);
    if (this.held) worker.postMessage({ kind: "hold", on: true });
    worker.onerror = ({ message }) => this.fail(message ?? "the browser starts no worker");
    return worker;
  }
}
