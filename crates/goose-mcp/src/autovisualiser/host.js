"use strict";
// The handshake of an MCP App, then its size whenever that changes.
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const root = document.documentElement;
const theme = (context) => {
  if (context?.theme === "dark" || context?.theme === "light") root.style.colorScheme = context.theme;
};
const size = () =>
  send({ method: "ui/notifications/size-changed", params: { width: root.scrollWidth, height: root.scrollHeight } });
addEventListener("message", ({ source, data }) => {
  if (source !== parent || source === window) return;
  if (data?.id === 1 && data.result) {
    theme(data.result.hostContext);
    send({ method: "ui/notifications/initialized", params: {} });
    new ResizeObserver(size).observe(root);
  }
  if (data?.method === "ui/notifications/host-context-changed") theme(data.params);
});
if (parent !== window) {
  const appInfo = { name: "goose-autovisualiser", version: "1" };
  send({ id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo, appCapabilities: {} } });
}
