// The search of a manual that is opened from disk: browsers start no worker from a file,
// so its script runs in a hidden frame, which takes and answers the same messages.
if (location.protocol === "file:") {
  globalThis.Worker = class {
    constructor(address) {
      this.frame = Object.assign(document.createElement("iframe"), { hidden: true });
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.onmessage?.({ data });
      const script = inside.document.createElement("script");
      this.loaded = new Promise((done) => { script.onload = done; });
      script.onerror = () => this.onerror?.(new Event("error"));
      script.src = address;
      inside.document.head.append(script);
    }

    async postMessage(data) {
      await this.loaded;
      this.frame.contentWindow?.onmessage({ data });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
