// The workers that share the computation of a chart.

const MOST_WORKERS = 4;

class Pool {
  constructor(live, hear) {
    Object.assign(this, { live, hear, workers: [] });
  }

  // Give each worker every n-th of some items: `request` makes a request of its own ones.
  share(items, request) {
    if (!this.workers.length) {
      const number = Math.max(1, Math.min(MOST_WORKERS, (navigator.hardwareConcurrency ?? 2) - 1));
      this.workers = Array.from({ length: number }, () => this.live.spawn(this.hear));
    }
    const { length } = this.workers;
    this.workers.forEach((worker, i) => worker.postMessage(request(items.filter((_, k) => k % length === i))));
  }
}
