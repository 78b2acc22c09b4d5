// Browsers start no worker for a page that is opened as a file. There the search runs in a hidden
// frame: the theme looks for this class (mkdocs.yml names the script in place of the theme's own,
// which is loaded from the network).
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.ready = new Promise((done) => {
        const frame = document.createElement("iframe");
        frame.hidden = true;
        frame.onload = () => {
          const inside = frame.contentWindow;
          const script = inside.document.createElement("script");
          inside.postMessage = (data) =>
            setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
          script.onload = () => done(inside);
          script.src = url;
          inside.document.head.append(script);
        };
        document.body.append(frame);
      });
    }
    postMessage(data) {
      this.ready.then((inside) =>
        inside.dispatchEvent(new inside.MessageEvent("message", { data })),
      );
    }
    terminate() {}
  };
}
